package io.jenkins.plugins.preemptible.engine.privileged;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a user may give to {@code dump} and {@code restore}, as shell commands of that user's. Each begins in the home folder with
 * empty folders {@code i} and {@code l}, the images of a stage in {@code good}, and {@code call VERB ID WORD...}.
 */
final class CheckpointWays {

    /** By name; none may give anything of root's. */
    final Map<String, String> all = new LinkedHashMap<>();

    private final Path roots;
    private final Path others;
    private final Path store;

    CheckpointWays(Path roots, Path others, Path store) {
        this.roots = roots;
        this.others = others;
        this.store = store;
        folders();
        files();
        words();
        limits();
        surroundings();
    }

    private void folders() {
        Map<String, String> odd = new LinkedHashMap<>();
        odd.put("of root's home", "/root");
        odd.put("in /etc", "/etc");
        odd.put("of root's", roots.toString());
        odd.put("of another user's", others.toString());
        odd.put("of the records", store.toString());
        odd.put("of CRIU's view", store + "/yard");
        odd.put("that is the top", "/");
        odd.put("that is empty", "");
        odd.put("that is relative", "i");
        odd.put("that climbs", "../../../../../../etc");
        odd.put("of control groups", "/sys/fs/cgroup");
        odd.put("of process 1", "/proc/1/root/root");
        odd.put("of its own root", "/proc/self/root/root");
        odd.put("that is a descriptor of root's, 3", "/proc/self/fd/3");
        odd.put("that is a descriptor of root's, 4", "/proc/self/fd/4");
        odd.put("that is a descriptor of root's, 5", "/proc/self/fd/5");
        odd.put("that is a descriptor of root's, 7", "/proc/thread-self/fd/7");
        odd.put("that is a file", "$PWD/file");
        odd.put("that is a FIFO", "$PWD/fifo");
        odd.put("that is a link to root's", "$PWD/link");
        odd.put("that is a link to itself", "$PWD/loop");
        odd.put("with a line's end", "$PWD/a\nb");
        odd.put("with a format", "$PWD/%n%s");
        odd.put("that nobody may read", "$PWD/shut");
        odd.put("with a name too long", "/" + "a/".repeat(3000));
        String before =
                "echo x > file; mkfifo fifo; ln -s " + roots + " link; ln -s loop loop; mkdir shut; chmod 0 shut; ";
        odd.forEach((name, path) -> {
            for (String verb : List.of("dump own", "restore new")) {
                all.put(
                        verb + " with images in a folder " + name,
                        before + "call " + verb + " \"" + path + "\" \"$PWD/l\"");
                all.put(
                        verb + " with logs in a folder " + name,
                        before + "cp good/* i; call " + verb + " \"$PWD/i\" \"" + path + "\"");
            }
        });
        for (String verb : List.of("dump own", "restore new")) {
            all.put(
                    verb + " with folders that are swapped",
                    "cp good/* i; (while [ ! -e done ]; do mv i i2; ln -s " + roots + " i; rm i; mv i2 i; done) & call "
                            + verb + " \"$PWD/i\" \"$PWD/i\"; wait");
            all.put(verb + " with one folder for both", "cp good/* i; call " + verb + " \"$PWD/i\" \"$PWD/i\"");
        }
    }

    private void files() {
        Map<String, String> kinds = new LinkedHashMap<>();
        kinds.put("a link to root's file", "ln -s " + roots + "/secret ");
        kinds.put("a link to a new file of root's", "ln -s " + roots + "/made ");
        kinds.put("a link to a device", "ln -s /dev/full ");
        kinds.put("a link to a descriptor", "ln -s /proc/self/fd/6 ");
        kinds.put("a folder", "mkdir ");
        kinds.forEach((kind, make) -> {
            for (String file : List.of("dump.log", "dump.out", "stats-dump")) {
                all.put(
                        "dump with " + kind + " as " + file,
                        make + "l/" + file + "; call dump own \"$PWD/i\" \"$PWD/l\"");
            }
            for (String file : List.of("restore.log", "restore.out", "stats-restore")) {
                all.put(
                        "restore with " + kind + " as " + file,
                        "cp good/* i; " + make + "l/" + file + "; call restore new \"$PWD/i\" \"$PWD/l\"");
            }
            for (String file : List.of(
                    "inventory.img", "pstree.img", "files.img", "core-1.img", "pages-1.img", "mountpoints-13.img")) {
                all.put(
                        "dump with " + kind + " as " + file,
                        make + "i/" + file + "; call dump own \"$PWD/i\" \"$PWD/l\"");
            }
        });
        kinds.put("an empty file", ": > ");
        kinds.put("a huge file", "truncate -s 40G ");
        kinds.put("random bytes", "dd status=none if=/dev/urandom bs=4096 count=1 of=");
        kinds.put("a file that is cut off", "head -c 20 good/inventory.img > ");
        kinds.put("another file of the image", "ln good/files.img ");
        kinds.forEach((kind, make) -> {
            for (String file :
                    List.of("inventory.img", "pstree.img", "files.img", "core-1.img", "mm-1.img", "ids-1.img")) {
                all.put(
                        "restore with " + kind + " as " + file,
                        "cp good/* i; rm i/" + file + "; " + make + "i/" + file
                                + "; call restore new \"$PWD/i\" \"$PWD/l\"");
            }
        });
    }

    private void words() {
        Map<String, String> odd = new LinkedHashMap<>();
        for (String word : List.of(
                "action-script=/bin/sh",
                "--action-script",
                "exec-cmd",
                "unprivileged",
                "root=/",
                "",
                "mount=",
                "mount=etc",
                "mount=/etc:/tmp",
                "mount=/etc]:/tmp",
                "ghost-limit=",
                "ghost-limit=-1",
                "ghost-limit=1x",
                "ghost-limit= 1",
                "idle ",
                "tcp-close\ttcp-close",
                "manage-cgroups=full",
                "%n%n%s",
                "lsm-profile=x",
                "inherit-fd=fd[3]:x",
                "external=file")) {
            odd.put("with the word '" + word + "'", "\"" + word + "\"");
        }
        odd.put("with the root as a mount", "mount=/");
        odd.put("with a mount that climbs", "mount=/../../etc");
        odd.put("with a mount of root's folder", "mount=" + roots);
        odd.put("with a mount of CRIU's view", "mount=" + store + "/yard/root");
        odd.put("with a limit that overflows", "ghost-limit=99999999999999999999999999");
        odd.put("with 20000 mounts", "$(i=0; while [ $i -lt 20000 ]; do i=$((i+1)); echo mount=/x; done)");
        odd.forEach((name, word) -> {
            all.put("dump " + name, "call dump own \"$PWD/i\" \"$PWD/l\" " + word);
            all.put("restore " + name, "cp good/* i; call restore new \"$PWD/i\" \"$PWD/l\" " + word);
        });
        for (String request : List.of(
                "",
                "2",
                "0\\\\0",
                "1\\\\0/\\\\0",
                "-1\\\\0",
                "2\\\\0/tmp\\\\0",
                "99999999999999999999\\\\0/\\\\0/\\\\0",
                "2x\\\\0/\\\\0/\\\\0",
                "\\\\0\\\\0\\\\0",
                "300000\\\\0")) {
            for (String verb : List.of("dump own", "restore new")) {
                all.put(
                        verb + " with the request '" + request + "'",
                        "printf '" + request.replace("\\\\", "\\") + "' | sudo -n \"$PROGRAM\" " + verb);
            }
        }
        for (String verb : List.of("dump own", "restore new")) {
            all.put(
                    verb + " with a request that is too long",
                    "head -c 3000000 /dev/zero | sudo -n \"$PROGRAM\" " + verb);
            all.put(
                    verb + " with a request behind its last word",
                    "{ printf '2\\0%s\\0%s\\0' \"$PWD/i\" \"$PWD/l\"; head -c 200000 /dev/zero | tr '\\0' a;"
                            + " sleep 1; } | sudo -n \"$PROGRAM\" " + verb);
            all.put(verb + " without input", "sudo -n \"$PROGRAM\" " + verb + " <&-");
            all.put(verb + " without output", "cp good/* i; call " + verb + " \"$PWD/i\" \"$PWD/l\" >&- 2>&-");
        }
    }

    private void limits() {
        for (String limit : List.of(
                "-f 0",
                "-f 1",
                "-n 63",
                "-n 64",
                "-u 1",
                "-v 20000",
                "-s 64",
                "-t 1",
                "-c unlimited",
                "-l 0",
                "-d 100")) {
            for (String verb : List.of("dump own", "restore new")) {
                all.put(
                        verb + " with ulimit " + limit,
                        "cp good/* i; LIMIT='" + limit + "' call " + verb + " \"$PWD/i\" \"$PWD/l\"");
            }
        }
    }

    private void surroundings() {
        all.put("a dump of another user's stage", "call dump theirs \"$PWD/i\" \"$PWD/l\"");
        all.put("a dump of no stage", "call dump none \"$PWD/i\" \"$PWD/l\"");
        all.put("a restore of a stage that runs", "cp good/* i; call restore second \"$PWD/i\" \"$PWD/l\"");
        all.put("a restore of another user's images", "call restore new " + others + " \"$PWD/l\"");
        all.put(
                "a restore of an image twice",
                "cp good/* i; call restore new \"$PWD/i\" \"$PWD/l\"; sudo -n \"$PROGRAM\" kill new; sudo -n"
                        + " \"$PROGRAM\" forget new; call restore new \"$PWD/i\" \"$PWD/l\"");
        all.put(
                "two restores of one stage",
                "cp good/* i; mkdir l2; call restore new \"$PWD/i\" \"$PWD/l\" & call restore new \"$PWD/i\""
                        + " \"$PWD/l2\"; wait");
        all.put(
                "two dumps of one stage",
                "mkdir i2 l2; call dump own \"$PWD/i\" \"$PWD/l\" & call dump own \"$PWD/i2\" \"$PWD/l2\"; wait");
        all.put(
                "a kill during a restore",
                "cp good/* i; call restore new \"$PWD/i\" \"$PWD/l\" & sleep 0.05; sudo -n \"$PROGRAM\" kill new; wait");
        all.put(
                "a thaw during a dump",
                "call dump own \"$PWD/i\" \"$PWD/l\" & sleep 0.05; sudo -n \"$PROGRAM\" thaw own; wait; sudo -n"
                        + " \"$PROGRAM\" freeze own");
        all.put(
                "an enter during a restore",
                "cp good/* i; call restore new \"$PWD/i\" \"$PWD/l\" & sleep 0.05; printf '%s\\0' 2 /usr/bin/id -u |"
                        + " sudo -n \"$PROGRAM\" enter new; wait");
        all.put(
                "signals to all that it may reach during a restore",
                "cp good/* i; (while [ ! -e done ]; do for p in /proc/[0-9]*; do grep -qs"
                        + " '^Uid:.2100' $p/status && { kill -9 ${p#/proc/}; cat $p/mem $p/environ; ls $p/fd/ $p/root/; } 2>/dev/null; done; done) &"
                        + " call restore new \"$PWD/i\" \"$PWD/l\"; wait");
        for (String variable : List.of(
                "LD_PRELOAD=/x",
                "PREEMPTIBLE_UID=0",
                "PREEMPTIBLE_BROKER=1",
                "CRIU_CONFIG_FILE=/etc/shadow",
                "CRTOOLS_SCRIPT_ACTION=x",
                "TMPDIR=/root")) {
            all.put(
                    "a restore with " + variable,
                    "cp good/* i; export " + variable + "; call restore new \"$PWD/i\" \"$PWD/l\"");
        }
        for (String file : List.of(".criu/default.conf", ".config/criu/default.conf")) {
            all.put(
                    "a restore with options in " + file,
                    "cp good/* i; mkdir -p $(dirname " + file + "); echo 'action-script " + roots + "/x' > " + file
                            + "; call restore new \"$PWD/i\" \"$PWD/l\"");
        }
    }
}
