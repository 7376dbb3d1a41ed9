package io.jenkins.plugins.preemptible.engine.content.format;

/**
 * What CRIU found out about a mapping, bits of the field {@code status} of a {@code vma_entry}.
 *
 * <ol>
 *   <li>More than one bit is usual: a stack is also private anonymous memory.
 *   <li>A mapping that the kernel provides (vDSO, vvar, vsyscall) has its own bit besides those.
 *   <li>A guard is no mapping of the kernel's but a note about a range of one.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/include/image.h}.
 */
public final class VmaStatus {

    public static final int STACK = 1 << 1;
    public static final int VSYSCALL = 1 << 2;
    public static final int VDSO = 1 << 3;
    public static final int HEAP = 1 << 5;
    public static final int FILE_PRIVATE = 1 << 6;
    public static final int FILE_SHARED = 1 << 7;
    public static final int ANON_SHARED = 1 << 8;
    public static final int ANON_PRIVATE = 1 << 9;
    public static final int SYSV_SHARED = 1 << 10;
    public static final int VVAR = 1 << 12;
    public static final int MEMFD = 1 << 14;
    public static final int GUARD = 1 << 16;

    private VmaStatus() {}
}
