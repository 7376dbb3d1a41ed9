package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.ImageContent.DeletedFile;
import io.jenkins.plugins.preemptible.engine.content.ImageContent.DumpTimes;
import io.jenkins.plugins.preemptible.engine.content.ImageContent.MountContent;
import io.jenkins.plugins.preemptible.engine.content.ImageContent.NamespaceContent;
import io.jenkins.plugins.preemptible.engine.content.ImageContent.Part;
import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Ghost;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Ids;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Inventory;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mount;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pstree;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Remap;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Stats;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.ImageKind;
import io.jenkins.plugins.preemptible.engine.content.format.KeptFiles;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Puts the picture of an image together from what was kept of its files.
 *
 * <ol>
 *   <li>Processes come from {@link ProcessTable}, open files from {@link FileTable}, sockets from {@link SocketTable}.
 *   <li>Mounts, namespaces and deleted files are read here.
 *   <li>Memory is summed up over processes; shared memory is added once.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code images/mnt.proto}, {@code core.proto}, {@code ghost-file.proto}.
 */
final class ContentAssembly {

    private static final int FORMAT_MASK = 0170000;
    private static final int REGULAR = 0100000;

    private static final List<String> MOUNT_TYPES = List.of(
            "",
            "proc",
            "sysfs",
            "devtmpfs",
            "binfmt_misc",
            "tmpfs",
            "devpts",
            "simfs",
            "pstore",
            "securityfs",
            "fusectl",
            "debugfs",
            "cgroup",
            "aufs",
            "mqueue",
            "fuse",
            "auto",
            "overlay",
            "autofs",
            "tracefs");
    private static final int CGROUP2 = 23;

    private static final Map<String, Integer> NAMESPACES = namespaces();

    private final KeptFiles kept;

    private ContentAssembly(KeptFiles kept) {
        this.kept = kept;
    }

    static ImageContent of(KeptFiles kept, boolean environment) throws ContentException {
        return new ContentAssembly(kept).assemble(environment);
    }

    private static Map<String, Integer> namespaces() {
        Map<String, Integer> namespaces = new LinkedHashMap<>();
        namespaces.put("pid", Ids.PID_NAMESPACE);
        namespaces.put("mnt", Ids.MOUNT_NAMESPACE);
        namespaces.put("ipc", Ids.IPC_NAMESPACE);
        namespaces.put("net", Ids.NET_NAMESPACE);
        namespaces.put("uts", Ids.UTS_NAMESPACE);
        namespaces.put("user", Ids.USER_NAMESPACE);
        namespaces.put("cgroup", Ids.CGROUP_NAMESPACE);
        namespaces.put("time", Ids.TIME_NAMESPACE);
        return namespaces;
    }

    private ImageContent assemble(boolean environment) throws ContentException {
        FileTable files = FileTable.of(kept);
        List<ProcessContent> processes = new ProcessTable(kept, files, environment).all();
        return new ImageContent(
                processes,
                memory(processes),
                files.all(),
                SocketTable.of(files.sockets()),
                mounts(),
                namespacesOfInit(),
                deletedFiles(files),
                kept.sizes().entrySet().stream()
                        .map(e -> new Part(e.getKey(), e.getValue()))
                        .toList(),
                dumpTimes());
    }

    private DumpTimes dumpTimes() throws ContentException {
        Optional<Message> stats = kept.message("stats-dump.img", ImageKind.STATS);
        Optional<Message> dump =
                stats.isEmpty() ? Optional.empty() : stats.get().message(Stats.DUMP);
        return dump.map(d -> new DumpTimes(
                        d.number(Stats.FREEZING),
                        d.number(Stats.FROZEN),
                        d.number(Stats.MEMORY_DUMP),
                        d.number(Stats.MEMORY_WRITE),
                        d.number(Stats.PAGES_SCANNED),
                        d.number(Stats.PAGES_WRITTEN)))
                .orElse(null);
    }

    private Map<MemoryKind, MemoryContent> memory(List<ProcessContent> processes) throws ContentException {
        Map<MemoryKind, MemoryContent> sum = new EnumMap<>(MemoryKind.class);
        for (ProcessContent process : processes) {
            process.memory().forEach((kind, memory) -> sum.merge(kind, memory, MemoryContent::plus));
        }
        for (String name : kept.names("pagemap-shmem-")) {
            long stored = AddressSpace.ofShared(
                            kept.file(name, ImageKind.PAGEMAP).orElseThrow())
                    .storedBytes();
            sum.merge(MemoryKind.SHARED, new MemoryContent(0, stored), MemoryContent::plus);
        }
        return sum;
    }

    private List<MountContent> mounts() throws ContentException {
        List<MountContent> mounts = new ArrayList<>();
        for (String name : kept.names("mountpoints-")) {
            for (Message m : kept.messages(name, ImageKind.MOUNTS)) {
                mounts.add(new MountContent(
                        m.number(Mount.ID),
                        m.number(Mount.PARENT_ID),
                        m.text(Mount.MOUNT_POINT),
                        type(m),
                        m.text(Mount.SOURCE),
                        m.text(Mount.ROOT),
                        m.truth(Mount.EXTERNAL) || m.has(Mount.EXTERNAL_KEY)));
            }
        }
        return mounts;
    }

    private static String type(Message mount) {
        if (mount.has(Mount.TYPE_NAME)) {
            return mount.text(Mount.TYPE_NAME);
        }
        long type = mount.number(Mount.TYPE);
        if (type == CGROUP2) {
            return "cgroup2";
        }
        return type > 0 && type < MOUNT_TYPES.size() ? MOUNT_TYPES.get((int) type) : "";
    }

    private List<NamespaceContent> namespacesOfInit() throws ContentException {
        Optional<Message> outside = Optional.empty();
        Optional<Message> inventory = kept.message("inventory.img", ImageKind.INVENTORY);
        if (inventory.isPresent()) {
            outside = inventory.get().message(Inventory.ROOT_IDS);
        }
        Optional<Message> init = kept.message("pstree.img", ImageKind.PSTREE);
        Optional<Message> inside = init.isEmpty()
                ? Optional.empty()
                : kept.message("ids-" + init.get().number(Pstree.PID) + ".img", ImageKind.IDS);
        List<NamespaceContent> namespaces = new ArrayList<>();
        if (outside.isPresent() && inside.isPresent()) {
            for (Map.Entry<String, Integer> each : NAMESPACES.entrySet()) {
                if (inside.get().has(each.getValue())) {
                    boolean own = inside.get().number(each.getValue())
                            != outside.get().number(each.getValue());
                    namespaces.add(new NamespaceContent(each.getKey(), own));
                }
            }
        }
        return namespaces;
    }

    private List<DeletedFile> deletedFiles(FileTable files) throws ContentException {
        List<DeletedFile> deleted = new ArrayList<>();
        for (Message remap : kept.messages("remap-fpath.img", ImageKind.REMAP_FPATH)) {
            long id = remap.number(Remap.FILE_ID);
            String name = "ghost-file-" + Long.toHexString(remap.number(Remap.REMAP_ID)) + ".img";
            if (remap.number(Remap.TYPE) == Remap.GHOST && kept.content(name) != null) {
                String path = files.name(id);
                deleted.add(new DeletedFile(id, path == null ? "" : path, ghostBytes(name)));
            }
        }
        return deleted;
    }

    // Large ones are sparse in the image and tell their size; the content of others is what follows the first entry.
    private long ghostBytes(String name) throws ContentException {
        ImageFile head = ImageFile.first(name, kept.content(name));
        Message ghost = head.messages().get(0);
        if (ghost.has(Ghost.SIZE)) {
            return ghost.number(Ghost.SIZE);
        }
        boolean regular = (ghost.number(Ghost.MODE) & FORMAT_MASK) == REGULAR;
        return regular ? kept.sizes().get(name) - head.bytes().length : 0;
    }
}
