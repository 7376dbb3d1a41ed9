package io.jenkins.plugins.preemptible.engine.privileged;

import static io.jenkins.plugins.preemptible.engine.privileged.ForgedImage.number;
import static io.jenkins.plugins.preemptible.engine.privileged.ForgedImage.text;

import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;

/** What the owner of a stage's image can write into it; each by a name. */
final class Forgeries {

    /** One change of an image; it returns how many messages it changed. */
    interface Forgery {
        int apply(ForgedImage image) throws IOException;
    }

    private static final List<Integer> CREDENTIALS = List.of(5, 10);
    private static final List<Integer> TASK = List.of(3);
    private static final List<Integer> THREAD = List.of(5);
    private static final long[] EVERYTHING = {0xffffffffL, 0x1ffL};
    private static final int INHERITABLE = 9;
    private static final int PERMITTED = 10;
    private static final int EFFECTIVE = 11;
    private static final int BOUNDING = 12;
    private static final int SECUREBITS = 13;
    private static final int GROUPS = 14;
    private static final int NO_NEW_PRIVILEGES = 18;
    private static final int AMBIENT = 19;
    /** The kernel takes no more. */
    private static final int MOST_GROUPS = 65536;

    /** What the processes have. */
    final Map<String, Forgery> rights = new LinkedHashMap<>();
    /** What they are and what they hold. */
    final Map<String, Forgery> contents = new LinkedHashMap<>();
    /** CRIU waits for a process that died. */
    final Map<String, Forgery> hanging = new LinkedHashMap<>();

    private final Path roots;
    private final long gid;

    /** @param roots a folder of root's, in which nobody else may write; with a file 'secret' */
    Forgeries(Path roots, long gid) {
        this.roots = roots;
        this.gid = gid;
        credentials();
        processes();
        files();
        mounts();
        namespaces();
    }

    private static Forgery all(String files, List<Integer> path, UnaryOperator<UnknownFieldSet> to) {
        return image -> {
            int count = 0;
            for (Path file : image.files(files)) {
                count += image.change(file, path, to);
            }
            return count;
        };
    }

    private static Forgery last(String files, List<Integer> path, UnaryOperator<UnknownFieldSet> to) {
        return image -> {
            List<Path> all = image.files(files);
            return all.isEmpty() ? 0 : image.change(all.get(all.size() - 1), path, to);
        };
    }

    private static UnaryOperator<UnknownFieldSet> set(long value, int... fields) {
        return message -> {
            UnknownFieldSet changed = message;
            for (int field : fields) {
                changed = number(changed, field, value);
            }
            return changed;
        };
    }

    private static UnaryOperator<UnknownFieldSet> put(int field, long... values) {
        return message -> number(message, field, values);
    }

    private void both(String name, UnaryOperator<UnknownFieldSet> to) {
        rights.put(name + ", all threads", all("core-\\d+\\.img", CREDENTIALS, to));
        rights.put(name + ", the last thread", last("core-\\d+\\.img", CREDENTIALS, to));
    }

    private void credentials() {
        both("every user id 0", set(0, 1, 3, 5, 7));
        both("every group id 0", set(0, 2, 4, 6, 8));
        both("saved user id 0", set(0, 5));
        both("effective user id 0", set(0, 3));
        both("file-system user id 0", set(0, 7));
        both("real user id 0", set(0, 1));
        both("saved group id 0", set(0, 6));
        both("effective group id 0", set(0, 4));
        both("file-system group id 0", set(0, 8));
        both("group 0", put(GROUPS, 0, gid));
        both("no groups", message -> message.toBuilder().clearField(GROUPS).build());
        both("one group less", put(GROUPS, gid));
        both("permitted capabilities", put(PERMITTED, EVERYTHING));
        both("inheritable capabilities", put(INHERITABLE, EVERYTHING));
        both(
                "effective and permitted capabilities",
                message -> number(number(message, PERMITTED, EVERYTHING), EFFECTIVE, EVERYTHING));
        both("root of everything", set(0, 1, 2, 3, 4, 5, 6, 7, 8).andThen(Forgeries::capable)::apply);
        both("one capability", message -> number(number(message, PERMITTED, 1 << 21, 0), EFFECTIVE, 1 << 21, 0));
        both(
                "inheritable and ambient capabilities",
                message -> number(
                        number(number(message, PERMITTED, EVERYTHING), INHERITABLE, EVERYTHING), AMBIENT, EVERYTHING));
        rights.put("securebits", all("core-\\d+\\.img", CREDENTIALS, set(0x2f, SECUREBITS)));
        rights.put("no_new_privs 0", all("core-\\d+\\.img", CREDENTIALS, set(0, NO_NEW_PRIVILEGES)));
        rights.put("an empty bounding set", all("core-\\d+\\.img", CREDENTIALS, put(BOUNDING, 0, 0)));
        hanging.put(
                "more capabilities than there are",
                all("core-\\d+\\.img", CREDENTIALS, put(EFFECTIVE, 0xffffffffL, 0xffffffffL, 1, 1)));
        both("so many groups that the look at them is long", message -> number(message, GROUPS, many()));
        both(
                "root of everything, behind many groups",
                set(0, 1, 2, 3, 4, 5, 6, 7, 8)
                        .andThen(Forgeries::capable)
                        .andThen(message -> number(message, GROUPS, many()))::apply);
        hanging.put(
                "more groups than the kernel takes",
                all("core-\\d+\\.img", CREDENTIALS, put(GROUPS, new long[MOST_GROUPS + 1])));
        rights.put(
                "other rights in a thread alone that has a name with a line's end",
                image -> last("core-\\d+\\.img", THREAD, message -> text(message, 13, "x\nNSpid:\t9\t9"))
                                .apply(image)
                        + last("core-\\d+\\.img", CREDENTIALS, set(0, 1, 3, 5, 7))
                                .apply(image));
        hanging.put("an id that the stage does not know", all("core-\\d+\\.img", CREDENTIALS, set(1, 1, 3, 5, 7)));
        hanging.put("a group that the stage does not know", all("core-\\d+\\.img", CREDENTIALS, put(GROUPS, 1)));
        hanging.put("ambient capabilities alone", all("core-\\d+\\.img", CREDENTIALS, put(AMBIENT, EVERYTHING)));
    }

    private static UnknownFieldSet capable(UnknownFieldSet message) {
        return number(number(number(message, PERMITTED, EVERYTHING), EFFECTIVE, EVERYTHING), BOUNDING, EVERYTHING);
    }

    private long[] many() {
        long[] all = new long[MOST_GROUPS];
        Arrays.fill(all, gid);
        return all;
    }

    private void processes() {
        contents.put("a session of its own", all("pstree\\.img", List.of(), m -> number(m, 4, number(m, 1))));
        contents.put(
                "a parent that is not there",
                all("pstree\\.img", List.of(), m -> number(m, 1) == 1 ? m : number(m, 2, 4711)));
        contents.put(
                "a process id of the host",
                all("pstree\\.img", List.of(), m -> number(m, 1) == 1 ? m : number(m, 1, 4711)));
        contents.put("a name with a line's end", all("core-\\d+\\.img", TASK, m -> text(m, 6, "x\nUid:\t0\t0\t0")));
        contents.put("another login id", all("core-\\d+\\.img", TASK, set(0, 13)));
        contents.put("the lowest oom_score_adj", all("core-\\d+\\.img", TASK, set(-1000L, 14)));
        contents.put("another personality", all("core-\\d+\\.img", TASK, set(0x0040000, 3)));
        contents.put("higher limits", all("core-\\d+\\.img", List.of(3, 8, 1), set(-1L, 1, 2)));
        contents.put("a scheduler of real time", all("core-\\d+\\.img", THREAD, m -> number(number(m, 4, 1), 5, 99)));
        contents.put("a nice value of -20", all("core-\\d+\\.img", THREAD, set(39, 3)));
        contents.put(
                "a seccomp filter that is not there",
                all("core-\\d+\\.img", THREAD, m -> number(number(m, 11, 2), 12, 7)));
        contents.put(
                "a label of a security module", all("core-\\d+\\.img", CREDENTIALS, m -> text(m, 15, "unconfined")));
    }

    /** The entry of a regular file that the stage holds open, by the end of its name. */
    private static UnaryOperator<UnknownFieldSet> file(String named, UnaryOperator<UnknownFieldSet> to) {
        return entry -> {
            if (!entry.hasField(3)) {
                return entry;
            }
            try {
                UnknownFieldSet regular = UnknownFieldSet.parseFrom(
                        entry.getField(3).getLengthDelimitedList().get(0));
                return !text(regular, 6).contains(named)
                        ? entry
                        : entry.toBuilder()
                                .addField(
                                        3,
                                        Field.newBuilder()
                                                .addLengthDelimited(
                                                        to.apply(regular).toByteString())
                                                .build())
                                .build();
            } catch (com.google.protobuf.InvalidProtocolBufferException e) {
                throw new IllegalStateException(e);
            }
        };
    }

    private static UnknownFieldSet open(UnknownFieldSet file, String path, long flags) {
        // Without its size and mode, which CRIU compares.
        return number(text(file, 6, path), 2, flags).toBuilder()
                .clearField(8)
                .clearField(10)
                .build();
    }

    private void files() {
        contents.put(
                "an open file of the user's own",
                all(
                        "files\\.img",
                        List.of(),
                        file("held", f -> open(f, text(f, 6).replace("held", "errors"), 0))));
        for (String path : List.of("/etc/shadow", roots + "/secret", "/proc/1/environ", "/proc/kcore", "/dev/mem")) {
            contents.put(
                    "an open file " + (path.contains("secret") ? "of root's" : path),
                    all("files\\.img", List.of(), file("held", f -> open(f, path.substring(1), 0))));
        }
        contents.put(
                "an open file of root's, to write",
                all("files\\.img", List.of(), file("held", f -> open(f, (roots + "/secret").substring(1), 1))));
        contents.put(
                "an open file of root's, made anew",
                all("files\\.img", List.of(), file("held", f -> open(f, (roots + "/made").substring(1), 01101))));
        contents.put(
                "an open sysctl",
                all("files\\.img", List.of(), file("held", f -> open(f, "proc/sys/kernel/core_pattern", 1))));
        contents.put(
                "open members of a control group",
                all("files\\.img", List.of(), file("held", f -> open(f, "sys/fs/cgroup/cgroup.procs", 1))));
        contents.put(
                "an open file that climbs",
                all("files\\.img", List.of(), file("held", f -> open(f, "../../../../../../etc/shadow", 0))));
        contents.put(
                "a lost file in a folder of root's",
                all("files\\.img", List.of(), file("lost", f -> text(f, 6, (roots + "/lost").substring(1)))));
        contents.put(
                "a lost file of the substitute's with setuid",
                all("ghost-file-.*\\.img", List.of(), m -> number(number(number(m, 1, 0), 2, 0), 3, 0104755)));
        contents.put(
                "a lost file that is a device",
                all("ghost-file-.*\\.img", List.of(), m -> number(number(m, 3, 060666), 6, 0x800)));
        contents.put(
                "a mapped file of root's",
                all("files\\.img", List.of(), file("counter", f -> open(f, (roots + "/secret").substring(1), 2))));
        contents.put(
                "a program of root's",
                all("files\\.img", List.of(), file("rights", f -> open(f, (roots + "/secret").substring(1), 0))));
        // The owner of signals of a regular file and of a socket.
        contents.put(
                "owners of signals that are root",
                image -> all("files\\.img", List.of(3, 5), m -> number(number(m, 1, 0), 2, 0))
                                .apply(image)
                        + all("files\\.img", List.of(16, 9), set(0, 1, 2)).apply(image));
        contents.put("a terminal of root's", all("tty-info\\.img", List.of(), m -> number(number(m, 14, 0), 15, 0)));
        contents.put("a terminal of the host's", all("tty-info\\.img", List.of(), m -> number(number(m, 2, 2), 6, 1)));
        contents.put("another terminal's number", all("tty-info\\.img", List.of(12), set(4000, 1)));
        contents.put("another root folder", all("fs-\\d+\\.img", List.of(), m -> number(m, 2, number(m, 1))));
        contents.put("a umask of none", all("fs-\\d+\\.img", List.of(), set(0, 3)));
    }

    private void mounts() {
        String mounts = "mountpoints-\\d+\\.img";
        contents.put("a mount of the host's root at another place", last(mounts, List.of(), m -> text(m, 7, "./etc")));
        contents.put(
                "the root of a mount at root's folder",
                all(
                        mounts,
                        List.of(),
                        m -> text(m, 7).equals("./") || text(m, 7).equals("/") ? text(m, 6, roots.toString()) : m));
        contents.put("mounts with all flags off", all(mounts, List.of(), set(0, 5)));
        contents.put("mounts with options for root", all(mounts, List.of(), m -> text(m, 9, "uid=0,gid=0,mode=4777")));
        contents.put(
                "mounts of disks",
                all(
                        mounts,
                        List.of(),
                        m -> number(m, 1) == 5 ? text(text(number(m, 1, 16), 14, "ext4"), 8, "/dev/vda") : m));
        contents.put(
                "mounts of control groups",
                all(
                        mounts,
                        List.of(),
                        m -> number(m, 1) == 5 ? text(text(number(m, 1, 23), 14, "cgroup2"), 8, "cgroup2") : m));
        contents.put(
                "mounts of overlays",
                all(
                        mounts,
                        List.of(),
                        m -> number(m, 1) == 5
                                ? text(
                                        text(number(m, 1, 17), 14, "overlay"),
                                        9,
                                        "lowerdir=/etc,upperdir=/tmp,workdir=/tmp")
                                : m));
        contents.put(
                "external mounts by a path of root's",
                all(mounts, List.of(), m -> m.hasField(18) ? text(m, 18, roots.toString()) : m));
        contents.put("mount points that climb", all(mounts, List.of(), m -> text(m, 7, "../../../.." + text(m, 7))));
        contents.put("all mounts but the last", last(mounts, List.of(), new UnaryOperator<>() {
            private String first;

            @Override
            public UnknownFieldSet apply(UnknownFieldSet mount) {
                boolean dropped = first == null && mount.hasField(18);
                first = dropped ? "" : first;
                return dropped ? null : mount;
            }
        }));
        contents.put(
                "no mount but the root",
                all(
                        mounts,
                        List.of(),
                        m -> text(m, 7).equals("./") || text(m, 7).equals("/") ? m : null));
    }

    private void namespaces() {
        for (Map.Entry<String, Integer> each :
                Map.of("PID", 5, "IPC", 7, "mount", 9).entrySet()) {
            contents.put("the host's " + each.getKey() + " namespace", image -> {
                long[] hosts = new long[1];
                all("inventory\\.img", List.of(3), m -> {
                            hosts[0] = number(m, each.getValue());
                            return m;
                        })
                        .apply(image);
                return all("ids-\\d+\\.img", List.of(), set(hosts[0], each.getValue()))
                                .apply(image)
                        + all("core-\\d+\\.img", List.of(4), set(hosts[0], each.getValue()))
                                .apply(image);
            });
        }
        for (Map.Entry<String, Integer> each : Map.of(
                        "PID", 5, "network", 6, "IPC", 7, "mount", 9, "user", 10, "control group", 11)
                .entrySet()) {
            contents.put(
                    "a " + each.getKey() + " namespace of its own",
                    image -> all("ids-\\d+\\.img", List.of(), set(4711, each.getValue()))
                                    .apply(image)
                            + all("core-\\d+\\.img", List.of(4), set(4711, each.getValue()))
                                    .apply(image));
        }
        contents.put("an image of another version", all("inventory\\.img", List.of(), set(99, 1)));
        contents.put("sysctls of System V", all("ipcns-var-\\d+\\.img", List.of(), set(0x7fffffff, 1, 2, 3)));
    }
}
