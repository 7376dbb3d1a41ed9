package io.jenkins.plugins.preemptible.engine.content.format;

/**
 * The kinds of image files that are read here, each with its magic.
 *
 * <ol>
 *   <li>A file begins with the common magic (or the service magic), then the magic of its kind.
 *   <li>The inventory alone begins with its own.
 *   <li>Then come entries, each with its length as 32 bits before it; numbers are little-endian.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/include/magic.h} and {@code criu/image-desc.c}.
 */
public enum ImageKind {
    INVENTORY(0x58313116),
    PSTREE(0x50273030),
    CORE(0x55053847),
    IDS(0x54432030),
    MM(0x57492820),
    PAGEMAP(0x56084025),
    FDINFO(0x56213732),
    FILES(0x56303138),
    FS(0x51403912),
    GHOST_FILE(0x52583605),
    REMAP_FPATH(0x59133954),
    MEMFD(0x48453499),
    MOUNTS(0x55563928),
    TTY_INFO(0x59453036),
    STATS(0x57093306);

    /** Before the magic of every image but the inventory. */
    static final int COMMON_MAGIC = 0x54564319;

    /** The same for files that are no part of the stage's state. */
    static final int SERVICE_MAGIC = 0x55105940;

    private final int magic;

    ImageKind(int magic) {
        this.magic = magic;
    }

    int magic() {
        return magic;
    }
}
