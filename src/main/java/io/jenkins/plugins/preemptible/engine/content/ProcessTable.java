package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.ProcessContent.Limit;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent.OpenFile;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent.State;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent.ThreadContent;
import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Core;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Credentials;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Fdinfo;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Fs;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Ids;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Limits;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pstree;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.TaskCore;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.ThreadCore;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.ImageKind;
import io.jenkins.plugins.preemptible.engine.content.format.KeptFiles;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The processes of an image, each put together from the files that have its id in their names.
 *
 * <ol>
 *   <li>{@code pstree.img} lists them, parents first.
 *   <li>{@code core-PID} has name, state, users and limits, {@code mm-PID} and {@code pagemap-PID} the memory,
 *       {@code ids-PID} names the {@code fdinfo} with the descriptors.
 *   <li>A zombie has a core only; what is missing is left empty.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code images/pstree.proto}, {@code core.proto}, {@code mm.proto}, {@code fdinfo.proto}.
 */
final class ProcessTable {

    private static final int STOPPED = 3;
    private static final int ALIVE = 1;
    private static final int CLOSE_ON_EXEC = 1;

    private static final List<String> LIMITS = List.of(
            "cpu",
            "fsize",
            "data",
            "stack",
            "core",
            "rss",
            "nproc",
            "nofile",
            "memlock",
            "as",
            "locks",
            "sigpending",
            "msgqueue",
            "nice",
            "rtprio",
            "rttime");

    private final KeptFiles kept;
    private final FileTable files;
    private final boolean environment;

    ProcessTable(KeptFiles kept, FileTable files, boolean environment) {
        this.kept = kept;
        this.files = files;
        this.environment = environment;
    }

    List<ProcessContent> all() throws ContentException {
        List<ProcessContent> processes = new ArrayList<>();
        if (kept.content("pstree.img") == null) {
            throw new ContentException("the image", "it has no list of processes", null);
        }
        for (Message entry : kept.messages("pstree.img", ImageKind.PSTREE)) {
            processes.add(process(entry));
        }
        return processes;
    }

    private ProcessContent process(Message entry) throws ContentException {
        long pid = entry.number(Pstree.PID);
        Message core = kept.message("core-" + pid + ".img", ImageKind.CORE)
                .orElseThrow(() -> new ContentException("pstree.img", "process " + pid + " has no core", null));
        Message task = core.message(Core.TASK)
                .orElseThrow(() -> new ContentException(core.file(), "it is no process's", null));
        Optional<Message> credentials = credentials(core);
        Optional<Message> mm = kept.message("mm-" + pid + ".img", ImageKind.MM);
        Optional<ImageFile> pagemap = kept.file("pagemap-" + pid + ".img", ImageKind.PAGEMAP);
        AddressSpace space = mm.isPresent() && pagemap.isPresent() ? AddressSpace.of(mm.get(), pagemap.get()) : null;
        Optional<Message> fs = kept.message("fs-" + pid + ".img", ImageKind.FS);
        return new ProcessContent(
                pid,
                entry.number(Pstree.PPID),
                entry.number(Pstree.PGID),
                entry.number(Pstree.SID),
                task.text(TaskCore.COMM),
                space == null ? List.of() : texts(space, mm.get(), Mm.ARG_START, Mm.ARG_END),
                !environment ? null : space == null ? List.of() : texts(space, mm.get(), Mm.ENV_START, Mm.ENV_END),
                state(task.number(TaskCore.STATE)),
                threads(entry, task),
                id(credentials, Credentials.UID),
                id(credentials, Credentials.GID),
                id(credentials, Credentials.EUID),
                id(credentials, Credentials.EGID),
                mm.map(m -> files.name(m.number(Mm.EXE_FILE_ID))).orElse(null),
                fs.map(m -> files.name(m.number(Fs.CWD_ID))).orElse(null),
                space == null ? Map.of() : space.memory(),
                openFiles(pid, core),
                limits(task));
    }

    private static Optional<Message> credentials(Message core) throws ContentException {
        Optional<Message> thread = core.message(Core.THREAD);
        return thread.isEmpty() ? Optional.empty() : thread.get().message(ThreadCore.CREDENTIALS);
    }

    private static long id(Optional<Message> credentials, int field) {
        return credentials.map(c -> c.number(field)).orElse(-1L);
    }

    private static State state(long state) {
        return state == ALIVE ? State.ALIVE : state == STOPPED ? State.STOPPED : State.ZOMBIE;
    }

    private List<ThreadContent> threads(Message entry, Message task) throws ContentException {
        List<ThreadContent> threads = new ArrayList<>();
        for (long tid : entry.numbers(Pstree.THREADS)) {
            String comm = "";
            Optional<Message> core = kept.message("core-" + tid + ".img", ImageKind.CORE);
            if (core.isPresent()) {
                comm = core.get()
                        .message(Core.THREAD)
                        .map(t -> t.text(ThreadCore.COMM))
                        .orElse("");
            }
            boolean first = tid == entry.number(Pstree.PID);
            threads.add(new ThreadContent(tid, first && comm.isEmpty() ? task.text(TaskCore.COMM) : comm));
        }
        return threads;
    }

    private List<String> texts(AddressSpace space, Message mm, int startField, int endField) {
        long start = mm.number(startField);
        long end = mm.number(endField);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (KeptFiles.PageRange range : PageText.text(space, start, end)) {
            kept.range(range).ifPresent(bytes::writeBytes);
        }
        String all = bytes.toString(StandardCharsets.UTF_8).replaceAll("\0+$", "");
        return all.isEmpty() ? List.of() : List.of(all.split("\0", -1));
    }

    private List<OpenFile> openFiles(long pid, Message core) throws ContentException {
        Optional<Message> ids = kept.message("ids-" + pid + ".img", ImageKind.IDS);
        if (ids.isEmpty()) {
            ids = core.message(Core.IDS);
        }
        List<OpenFile> open = new ArrayList<>();
        if (ids.isPresent()) {
            for (Message fd : kept.messages("fdinfo-" + ids.get().number(Ids.FILES) + ".img", ImageKind.FDINFO)) {
                open.add(new OpenFile(
                        fd.number(Fdinfo.FD),
                        FileKind.of(fd.number(Fdinfo.TYPE)),
                        fd.number(Fdinfo.FILE_ID),
                        (fd.number(Fdinfo.FLAGS) & CLOSE_ON_EXEC) != 0));
            }
        }
        open.sort(Comparator.comparingLong(OpenFile::fd));
        return open;
    }

    private static List<Limit> limits(Message task) throws ContentException {
        List<Limit> limits = new ArrayList<>();
        Optional<Message> all = task.message(TaskCore.LIMITS);
        if (all.isPresent()) {
            for (Message limit : all.get().messages(Limits.LIMITS)) {
                int number = limits.size();
                limits.add(new Limit(
                        number < LIMITS.size() ? LIMITS.get(number) : "limit " + number,
                        finite(limit.number(Limits.CURRENT)),
                        finite(limit.number(Limits.MAXIMUM))));
            }
        }
        return limits;
    }

    private static Long finite(long value) {
        return value == -1 ? null : value;
    }
}
