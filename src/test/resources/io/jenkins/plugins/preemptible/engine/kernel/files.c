/* Open files: offsets, flags, deleted ones, folders, mappings. */
#define FAMILY "files"
#include "kernel.h"
#include <dirent.h>

static int made(const char *name, const char *text) {
    int fd = MUST(open(name, O_RDWR | O_CREAT | O_TRUNC, 0644));
    write_all(fd, text, strlen(text));
    return fd;
}

static void deleted(size_t size) {
    int fd = MUST(open("deleted", O_RDWR | O_CREAT, 0640));
    unsigned char *bytes = malloc(size);
    fill(bytes, size, 3);
    write_all(fd, bytes, size);
    MUST(lseek(fd, 777, SEEK_SET));
    MUST(unlink("deleted"));
    ready_and_wait();
    struct stat about;
    MUST(fstat(fd, &about));
    CHECK(about.st_nlink == 0 && (about.st_mode & 0777) == 0640, "%d links, mode 0%o", (int)about.st_nlink,
          about.st_mode & 0777);
    CHECK(lseek(fd, 0, SEEK_CUR) == 777, "its offset changed");
    CHECK(access("deleted", F_OK) < 0, "its name came back");
    memset(bytes, 0, size);
    MUST(lseek(fd, 0, SEEK_SET));
    read_all(fd, bytes, size);
    check_filled(bytes, size, 3, "the content");
    write_all(fd, "more", 4);
}

RESOURCE(deleted_file, "deleted file that is open") { deleted(10000); }
RESOURCE(deleted_file_large, "deleted file that is open, 3 MB: above CRIU's own limit of 1 MB") { deleted(3000000); }

RESOURCE(deleted_file_sparse, "deleted file of 2 GB that is nearly all hole") {
    int fd = MUST(open("deleted", O_RDWR | O_CREAT, 0600));
    write_all(fd, "first", 5);
    MUST(pwrite(fd, "last", 4, (1LL << 31) - 4));
    MUST(unlink("deleted"));
    ready_and_wait();
    struct stat about;
    MUST(fstat(fd, &about));
    CHECK(about.st_size == 1LL << 31, "its size is %lld", (long long)about.st_size);
    CHECK(about.st_blocks < 10000, "its holes became %lld blocks", (long long)about.st_blocks);
    char text[5] = {0};
    MUST(pread(fd, text, 4, (1LL << 31) - 4));
    CHECK(strcmp(text, "last") == 0, "its end is '%s'", text);
}

RESOURCE(deleted_file_mapped, "deleted file that is only mapped, shared with a child") {
    int fd = MUST(open("mapped", O_RDWR | O_CREAT, 0600));
    MUST(ftruncate(fd, 50000));
    unsigned char *memory = MUST((unsigned char *)mmap(NULL, 50000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    fill(memory, 50000, 2);
    close(fd);
    MUST(unlink("mapped"));
    pid_t child = spawn(wait_go);
    ready_and_wait();
    check_filled(memory, 50000, 2, "the mapping");
    memory[49999] = 1;
    join(child);
}

REFUSED(deleted_name_of_two, "open file of which one of two names was deleted", "LINKED_ELSEWHERE") {
    int fd = made("one", "linked");
    MUST(link("one", "two"));
    MUST(unlink("one"));
    ready_and_wait();
    write_all(fd, " on", 3);
    int other = MUST(open("two", O_RDONLY));
    expect(other, "linked on");
    struct stat a, b;
    MUST(fstat(fd, &a));
    MUST(fstat(other, &b));
    CHECK(a.st_ino == b.st_ino && a.st_nlink == 1, "it is another file than its name leads to, or has %d names",
          (int)a.st_nlink);
}

RESOURCE(deleted_program, "program whose file was deleted") {
    char self[4096] = {0};
    MUST(readlink("/proc/self/exe", self, sizeof self - 1));
    int in = MUST(open(self, O_RDONLY)), out = MUST(open("copy", O_WRONLY | O_CREAT, 0700));
    char block[65536];
    for (ssize_t got; (got = MUST(read(in, block, sizeof block))) > 0;) write_all(out, block, (size_t)got);
    close(out);
    pid_t child = MUST(fork());
    if (child == 0) {
        MUST(mkdir("inner", 0700));
        MUST(chdir("inner"));
        execl("../copy", "copy", "file_offsets", NULL);
        _exit(9);
    }
    await_mark("inner/ready");
    MUST(unlink("copy"));
    ready_and_wait();
    mark("inner/go");
    join(child);
}

RESOURCE(file_offsets, "offsets and flags: O_APPEND, O_NONBLOCK, close-on-exec, read-only") {
    int fd = made("file", "0123456789");
    int appends = MUST(open("file", O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC));
    int reads = MUST(open("file", O_RDONLY));
    MUST(lseek(fd, 4, SEEK_SET));
    MUST(lseek(reads, 6, SEEK_SET));
    ready_and_wait();
    CHECK((fcntl(appends, F_GETFL) & (O_APPEND | O_NONBLOCK | O_ACCMODE)) == (O_APPEND | O_NONBLOCK | O_WRONLY),
          "its flags are 0%o", (unsigned)fcntl(appends, F_GETFL));
    CHECK(fcntl(appends, F_GETFD) == FD_CLOEXEC && fcntl(fd, F_GETFD) == 0, "close-on-exec changed");
    write_all(appends, "ab", 2);
    expect(fd, "456789ab");
    expect(reads, "6789ab");
    CHECK(write(reads, "x", 1) < 0 && errno == EBADF, "a read-only one can be written");
}

RESOURCE(file_truncated, "file opened with O_TRUNC is not truncated again") {
    made("file", "this goes");
    int fd = MUST(open("file", O_RDWR | O_TRUNC));
    write_all(fd, "and this stays", 14);
    ready_and_wait();
    MUST(lseek(fd, 0, SEEK_SET));
    expect(fd, "and this stays");
}

static int shared_offset, far_number;

static void dup_child(void) {
    wait_go();
    expect(shared_offset, "234");
}

RESOURCE(dup_descriptors, "duplicated descriptors share an offset, between processes too") {
    shared_offset = made("file", "0123456789");
    int other = MUST(dup(shared_offset));
    far_number = MUST(dup2(shared_offset, 700));
    int own = MUST(open("file", O_RDONLY));
    MUST(lseek(other, 2, SEEK_SET));
    pid_t child = spawn(dup_child);
    ready_and_wait();
    join(child);
    CHECK(lseek(other, 0, SEEK_CUR) == 5, "the child's reading did not move the offset here");
    expect(far_number, "56");
    expect(other, "78");
    expect(own, "01");
}

RESOURCE(open_folder, "open folder with a position in the middle") {
    /* More than one call of getdents(2) brings. */
    enum { ENTRIES = 2000 };
    MUST(mkdir("folder", 0700));
    char name[60];
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof name, "folder/%040d", i);
        mark(name);
    }
    DIR *folder = opendir("folder");
    CHECK(folder, "opendir: %s", strerror(errno));
    int seen = 0;
    while (seen < 20 && readdir(folder)) seen++;
    ready_and_wait();
    while (readdir(folder)) seen++;
    CHECK(seen == ENTRIES + 2, "%d entries instead of %d", seen, ENTRIES + 2);
    rewinddir(folder);
    for (seen = 0; readdir(folder);) seen++;
    CHECK(seen == ENTRIES + 2, "%d entries from the start", seen);
}

RESOURCE(deleted_folder, "working folder and open folder that were deleted") {
    int start = MUST(open(".", O_RDONLY | O_DIRECTORY));
    MUST(mkdir("gone", 0700));
    int folder = MUST(open("gone", O_RDONLY | O_DIRECTORY));
    MUST(chdir("gone"));
    MUST(rmdir("../gone"));
    MUST(close(MUST(openat(start, "ready", O_CREAT | O_WRONLY, 0600))));
    while (faccessat(start, "go", F_OK, 0) < 0) pause_millis(10);
    char path[1000];
    bool gone = getcwd(path, sizeof path) == NULL && errno == ENOENT;
    struct stat about;
    int stated = fstat(folder, &about);
    int created = open("new", O_CREAT | O_WRONLY, 0600);
    MUST(fchdir(start));
    CHECK(gone, "the working folder is %s", path);
    CHECK(stated == 0, "the open one is lost");
    CHECK(created < 0, "it has a name again");
    CHECK(access("gone", F_OK) < 0, "its name came back");
}

RESOURCE(own_proc, "open files of /proc/self") {
    int status = MUST(open("/proc/self/status", O_RDONLY)), maps = MUST(open("/proc/self/maps", O_RDONLY));
    int folder = MUST(open("/proc/self/fd", O_RDONLY | O_DIRECTORY));
    ready_and_wait();
    char text[2000] = {0}, due[40];
    read_all(status, text, 100);
    snprintf(due, sizeof due, "Name:\t");
    CHECK(strncmp(text, due, strlen(due)) == 0, "the status begins with '%.20s'", text);
    CHECK(read(maps, text, 100) > 0, "the list of mappings is empty");
    CHECK(faccessat(folder, "0", F_OK, 0) == 0, "the folder of descriptors is empty");
}

RESOURCE(devices, "open /dev/null, zero, full, urandom") {
    int null = MUST(open("/dev/null", O_RDWR)), zero = MUST(open("/dev/zero", O_RDONLY));
    int full = MUST(open("/dev/full", O_RDWR)), random = MUST(open("/dev/urandom", O_RDONLY));
    ready_and_wait();
    char byte = 1;
    CHECK(write(null, "x", 1) == 1 && read(null, &byte, 1) == 0, "/dev/null is something else");
    CHECK(read(zero, &byte, 1) == 1 && byte == 0, "/dev/zero is something else");
    CHECK(write(full, "x", 1) < 0 && errno == ENOSPC, "/dev/full is something else");
    CHECK(read(random, &byte, 1) == 1, "/dev/urandom is something else");
}

static volatile sig_atomic_t told;
static void on_io(int signal) { told = signal; }

RESOURCE(file_owner, "owner and signal of a descriptor (F_SETOWN, F_SETSIG, O_ASYNC)") {
    int ends[2];
    MUST(pipe(ends));
    signal(SIGRTMIN + 2, on_io);
    MUST(fcntl(ends[0], F_SETOWN, getpid()));
    MUST(fcntl(ends[0], F_SETSIG, SIGRTMIN + 2));
    MUST(fcntl(ends[0], F_SETFL, O_ASYNC));
    ready_and_wait();
    CHECK(fcntl(ends[0], F_GETOWN) == getpid(), "its owner is %d", fcntl(ends[0], F_GETOWN));
    CHECK(fcntl(ends[0], F_GETSIG) == SIGRTMIN + 2, "its signal is %d", fcntl(ends[0], F_GETSIG));
    write_all(ends[1], "x", 1);
    for (int i = 0; !told; i++) {
        CHECK(i < 5000, "no signal");
        pause_millis(1);
    }
}

RESOURCE(file_path_only, "descriptors opened with O_PATH, one of a symbolic link") {
    made("file", "text");
    MUST(symlink("file", "link"));
    int path = MUST(open("file", O_PATH)), link = MUST(open("link", O_PATH | O_NOFOLLOW));
    ready_and_wait();
    CHECK(fcntl(path, F_GETFL) & O_PATH, "it is an ordinary one now");
    char target[20] = {0};
    MUST(readlinkat(link, "", target, sizeof target - 1));
    CHECK(strcmp(target, "file") == 0, "the link leads to '%s'", target);
}

RESOURCE(file_renamed, "open file that was renamed") {
    int fd = made("before", "text");
    MUST(rename("before", "after"));
    ready_and_wait();
    MUST(lseek(fd, 0, SEEK_SET));
    expect(fd, "text");
    write_all(fd, "more", 4);
    expect(MUST(open("after", O_RDONLY)), "textmore");
}

RESOURCE(file_mapped_shared, "file mapped shared and private, with changes of each") {
    int fd = made("file", "");
    MUST(ftruncate(fd, 3 * 4096));
    char *shared = MUST((char *)mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    char *own = MUST((char *)mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0));
    strcpy(shared + 4096, "for all");
    strcpy(own, "for me");
    ready_and_wait();
    CHECK(strcmp(own, "for me") == 0 && shared[0] == 0, "the private change is lost, or is in the file");
    CHECK(strcmp(own + 4096, "for all") == 0, "the private mapping does not see the file any more");
    strcpy(shared + 8192, "afterwards");
    char text[11] = {0};
    MUST(pread(fd, text, 10, 8192));
    CHECK(strcmp(text, "afterwards") == 0 && strcmp(own + 8192, text) == 0, "a change does not reach the file");
}
