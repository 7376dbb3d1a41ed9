/* What a stage makes for itself: mounts and namespaces. */
#define FAMILY "mounts and namespaces"
#include "kernel.h"
#include <sys/mount.h>
#include <sys/utsname.h>

RESOURCE(mount_tmpfs, "tmpfs that the stage mounts itself, content and all") {
    MUST(mkdir("mounted", 0700));
    MUST(mount("own", "mounted", "tmpfs", 0, "size=4m,mode=0750"));
    int fd = MUST(open("mounted/file", O_RDWR | O_CREAT, 0600));
    write_all(fd, "on tmpfs", 8);
    ready_and_wait();
    MUST(lseek(fd, 0, SEEK_SET));
    expect(fd, "on tmpfs");
    int again = MUST(open("mounted/file", O_RDONLY));
    expect(again, "on tmpfs");
    close(again);
    close(fd);
    MUST(umount("mounted"));
    CHECK(access("mounted/file", F_OK) < 0, "it was not a mount any more");
}

RESOURCE(mount_bind, "folder that the stage binds to another place") {
    MUST(mkdir("source", 0700));
    MUST(mkdir("target", 0700));
    MUST(mount("source", "target", NULL, MS_BIND, NULL));
    ready_and_wait();
    mark("source/file");
    CHECK(access("target/file", F_OK) == 0, "both are not the same any more");
    MUST(umount("target"));
    CHECK(access("target/file", F_OK) < 0, "it was not a mount any more");
}

static void renamed_host(void) {
    MUST(unshare(CLONE_NEWUTS));
    MUST(sethostname("inner-host", 10));
    mark("ready");
    wait_go();
    struct utsname about;
    MUST(uname(&about));
    CHECK(strcmp(about.nodename, "inner-host") == 0, "the host is called '%s'", about.nodename);
}

REFUSED(uts_namespace, "host name of its own (UTS namespace)", "NESTED_CONTAINER") { join(spawn(renamed_host)); }

static void first_inside(void) {
    CHECK(getpid() == 1, "it is process %d", getpid());
    mark("ready");
    wait_go();
    CHECK(getpid() == 1, "it is process %d now", getpid());
}

static void nested(void) {
    MUST(unshare(CLONE_NEWPID));
    join(spawn(first_inside));
}

REFUSED(nested_pid_namespace, "PID namespace inside the stage's", "NESTED_CONTAINER") {
    join(spawn(nested));
}
