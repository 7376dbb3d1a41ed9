package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;

/**
 * What a mapping is for.
 *
 * <ol>
 *   <li>Each mapping is of one kind, the first one here whose mark CRIU set on it.
 *   <li>Stacks of threads other than the first are anonymous: the kernel does not tell them apart.
 *   <li>What is mapped from a file is stored only where it was changed.
 * </ol>
 */
public enum MemoryKind {
    /** vDSO, vvar and vsyscall: the kernel's own, never stored but for the vDSO's code. */
    KERNEL(VmaStatus.VDSO | VmaStatus.VVAR | VmaStatus.VSYSCALL),
    STACK(VmaStatus.STACK),
    HEAP(VmaStatus.HEAP),
    /** Anonymous shared memory, System V's, and memfd: stored once for all who map it. */
    SHARED(VmaStatus.ANON_SHARED | VmaStatus.SYSV_SHARED | VmaStatus.MEMFD),
    FILE_SHARED(VmaStatus.FILE_SHARED),
    FILE_PRIVATE(VmaStatus.FILE_PRIVATE),
    ANONYMOUS(VmaStatus.ANON_PRIVATE),
    OTHER(0);

    private final int marks;

    MemoryKind(int marks) {
        this.marks = marks;
    }

    static MemoryKind of(long status) {
        for (MemoryKind kind : values()) {
            if ((kind.marks & status) != 0) {
                return kind;
            }
        }
        return OTHER;
    }
}
