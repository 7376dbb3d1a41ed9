package io.jenkins.plugins.preemptible.engine.image.preserved;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The way from a preserved path down to the folder that is worked in, kept open.
 *
 * <ol>
 *   <li>The folder above the preserved path is opened first, without following links.
 *   <li>{@link #parentOf} goes up as far as needed and down again, one open folder for each name.
 *   <li>In a list where folders come before what is in them, each folder so is opened about once.
 * </ol>
 *
 * For one thread.
 */
final class FolderStack implements Closeable {

    private final String root;
    private final List<String> names = new ArrayList<>();
    private final List<OpenFolder> open = new ArrayList<>();

    /** @param root the preserved path, absolute and normal, not the root of the file system */
    FolderStack(Path root, boolean makeMissing) throws IOException {
        this.root = root.getFileName().toString();
        Path above = root.getParent();
        open.add(makeMissing ? OpenFolder.makeAll(above) : OpenFolder.of(above));
    }

    /** The same of a preserved path that has another name, in a folder that is open already. */
    FolderStack(OpenFolder above, String name) throws IOException {
        this.root = name;
        open.add(above.again());
    }

    /**
     * The open folder that holds this path.
     *
     * @param below path below the root, with slashes; empty for the root itself
     */
    OpenFolder parentOf(String below) throws IOException {
        List<String> wanted = names(below);
        wanted.remove(wanted.size() - 1);
        int same = 0;
        while (same < Math.min(names.size(), wanted.size()) && names.get(same).equals(wanted.get(same))) {
            same++;
        }
        while (names.size() > same) {
            names.remove(names.size() - 1);
            open.remove(open.size() - 1).close();
        }
        for (String name : wanted.subList(same, wanted.size())) {
            open.add(open.get(open.size() - 1).child(name));
            names.add(name);
        }
        return open.get(open.size() - 1);
    }

    /** The last name of this path, to be used with its parent. */
    String nameOf(String below) {
        List<String> all = names(below);
        return all.get(all.size() - 1);
    }

    private List<String> names(String below) {
        List<String> all = new ArrayList<>();
        all.add(root);
        if (!below.isEmpty()) {
            all.addAll(List.of(below.split("/", -1)));
        }
        return all;
    }

    @Override
    public void close() {
        open.forEach(OpenFolder::close);
        open.clear();
    }
}
