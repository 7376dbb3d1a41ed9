package io.jenkins.plugins.preemptible.engine.move;

import com.fasterxml.jackson.core.JsonProcessingException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.home.StageNotes;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Folders that are made anew, and take their places when all of them are whole.
 *
 * <ol>
 *   <li>The places are noted in the home folder. Beside each a hidden folder is made, named after the stage, the attempt and the
 *       place.
 *   <li>The caller makes the new folder inside of it, under the name {@link HiddenFolders#NEW}.
 *   <li>{@link #swap} exchanges each new one with what is in its place, in one step of the kernel: a step of the stage that
 *       looks for its workspace at that moment would end at once without one. When one cannot be, those before it are
 *       exchanged back.
 *   <li>The hidden folders, with what was there before, are deleted in the background; where nothing was swapped, at once.
 *   <li>What a process that was killed has left of them goes with the next attempt, or with {@link #remove}.
 * </ol>
 *
 * <p>A file system that cannot exchange: the old one is moved into the hidden folder, as {@link HiddenFolders#OLD}, and then the new one
 * to its place. When the process is killed between the two, {@link #remove} moves the old one back, unless something that is no
 * empty folder has its place by then.
 *
 * <p>The folder that holds the places may belong to a user who is not trusted:
 *
 * <ul>
 *   <li>No link on the way there is followed, and all is done from open folders. The names are random: nothing can wait under
 *       one, and what appears there makes the attempt fail.
 *   <li>The hidden folder is for this process's user only, which is verified when it is open. Whatever becomes of its name, the
 *       new folder is written, and later deleted, inside of that folder, where nobody else gets.
 *   <li>A link, or a folder of another user or for others, that has such a name is left alone.
 *   <li>That user can always rename the places, and so chooses what of that folder's content is exchanged and deleted; nothing
 *       outside of it ever is.
 * </ul>
 *
 * <p>After {@link #remove} no attempt that began before it changes a place any more, not even one of a process that lives on
 * without its connection: each looks for its own name in the note once its hidden folders are there, and {@link #remove} first
 * takes that name out of the note and then deletes its hidden folder, whose content goes to another one before.
 *
 * <p>For one thread.
 */
final class FreshFolders implements AutoCloseable {

    private static final Logger LOG = Logger.getLogger(FreshFolders.class.getName());
    /** Before the name of a removal, where that of an attempt stood. */
    private static final String NO_ATTEMPT = "removed-";

    private static final String LEFT = "the stage was removed from this host while its folders were made";
    private static final String RESTLESS = "appears and vanishes while it is to be replaced";
    private static final int MOST_TRIES = 3;
    /** Held where a note is changed depending on what it was. */
    private static final Object NOTES = new Object();

    /** How a new folder came to its place. */
    private enum Way {
        EXCHANGED,
        /** Nothing was there. */
        MOVED,
        /** The old one is in the hidden folder, under its own name. */
        ASIDE
    }

    /** One of them: its place is a name in the first folder, and it is made in the second. */
    private record Fresh(Path place, OpenFolder parent, String hiddenName, OpenFolder hidden) {
        String name() {
            return place.getFileName().toString();
        }
    }

    private final Path home;
    private final StageId id;
    private final Renames renames;
    private final String attempt = HiddenFolders.randomName();
    private final List<Fresh> all = new ArrayList<>();
    private boolean swapped;

    private FreshFolders(Path home, StageId id, Renames renames) {
        this.home = home;
        this.id = id;
        this.renames = renames;
    }

    /**
     * Begins.
     *
     * @param home in which the places are noted
     * @param places of the folders that the caller is going to make: absolute, none inside of another
     * @param emptied likewise, of those that become empty folders where something is there
     * @throws IOException when a hidden folder cannot be made; none is left then
     */
    static FreshFolders begin(Path home, StageId id, Collection<Path> places, Collection<Path> emptied, Renames renames)
            throws IOException {
        FreshFolders fresh = new FreshFolders(home, id, renames);
        try {
            fresh.note(places, emptied);
            for (Path place : places) {
                fresh.make(place, OpenFolder.makeAll(place.getParent()));
            }
            for (Path place : emptied) {
                fresh.empty(place);
            }
            fresh.requireNoted();
            return fresh;
        } catch (IOException | RuntimeException e) {
            fresh.close();
            throw e;
        }
    }

    private void note(Collection<Path> places, Collection<Path> emptied) throws IOException {
        Set<String> noted = new LinkedHashSet<>();
        synchronized (NOTES) {
            noted.addAll(noted(home, id).orElse(UnpackedFolders.NONE).folders());
            places.forEach(place -> noted.add(place.toString()));
            emptied.forEach(place -> noted.add(place.toString()));
            notes(home).write(id, new UnpackedFolders(List.copyOf(noted), attempt));
        }
        for (String place : noted) {
            HiddenFolders.takeAway(id, Path.of(place));
            HiddenFolders.delete(id, HiddenFolders.ANY, Path.of(place));
        }
    }

    private void make(Path place, OpenFolder parent) throws IOException {
        String hidden = HiddenFolders.name(id, attempt, place);
        try {
            all.add(new Fresh(place, parent, hidden, parent.makePrivate(hidden)));
        } catch (IOException | RuntimeException e) {
            parent.close();
            throw e;
        }
    }

    private void empty(Path place) throws IOException {
        OpenFolder parent;
        try {
            parent = OpenFolder.of(place.getParent());
        } catch (NoSuchFileException e) {
            return;
        }
        if (HiddenFolders.exists(parent.at(place.getFileName().toString()))) {
            make(place, parent);
            all.get(all.size() - 1).hidden().makePrivate(HiddenFolders.NEW).close();
        } else {
            parent.close();
        }
    }

    private void requireNoted() throws IOException {
        if (!noted(home, id).orElse(UnpackedFolders.NONE).attempt().equals(attempt)) {
            throw new IOException(LEFT);
        }
    }

    /** Where the caller makes each of them, by their places; open until {@link #close}. */
    Map<Path, OpenFolder> hidden() {
        Map<Path, OpenFolder> hidden = new HashMap<>();
        all.forEach(fresh -> hidden.put(fresh.place(), fresh.hidden()));
        return hidden;
    }

    /** @throws IOException when one cannot take its place; all places are as they were then */
    void swap() throws IOException {
        requireNoted();
        List<Way> done = new ArrayList<>();
        try {
            for (Fresh fresh : all) {
                done.add(swap(fresh));
            }
            swapped = true;
        } catch (IOException | RuntimeException e) {
            for (int each = done.size() - 1; each >= 0; each--) {
                try {
                    swapBack(all.get(each), done.get(each));
                } catch (IOException back) {
                    e.addSuppressed(back);
                }
            }
            throw e;
        }
    }

    private Way swap(Fresh fresh) throws IOException {
        for (int tries = 0; tries < MOST_TRIES; tries++) {
            try {
                return HiddenFolders.exists(fresh.parent().at(fresh.name())) ? exchange(fresh) : move(fresh);
            } catch (FileAlreadyExistsException e) {
                LOG.log(Level.FINE, e, () -> fresh.place() + " has appeared meanwhile");
            } catch (NoSuchFileException e) {
                if (!HiddenFolders.exists(fresh.hidden().at(HiddenFolders.NEW))) {
                    throw new IOException(LEFT, e);
                }
                LOG.log(Level.FINE, e, () -> fresh.place() + " has vanished meanwhile");
            }
        }
        throw new FileSystemException(fresh.place().toString(), null, RESTLESS);
    }

    private Way move(Fresh fresh) throws IOException {
        if (!renames.moveToFree(fresh.hidden(), HiddenFolders.NEW, fresh.parent(), fresh.name())) {
            renames.move(fresh.hidden(), HiddenFolders.NEW, fresh.parent(), fresh.name());
        }
        return Way.MOVED;
    }

    private Way exchange(Fresh fresh) throws IOException {
        if (renames.exchange(fresh.hidden(), HiddenFolders.NEW, fresh.parent(), fresh.name())) {
            return Way.EXCHANGED;
        }
        renames.move(fresh.parent(), fresh.name(), fresh.hidden(), HiddenFolders.OLD);
        try {
            renames.move(fresh.hidden(), HiddenFolders.NEW, fresh.parent(), fresh.name());
        } catch (IOException | RuntimeException e) {
            renames.move(fresh.hidden(), HiddenFolders.OLD, fresh.parent(), fresh.name());
            throw e;
        }
        return Way.ASIDE;
    }

    private void swapBack(Fresh fresh, Way way) throws IOException {
        if (way == Way.EXCHANGED) {
            renames.exchange(fresh.hidden(), HiddenFolders.NEW, fresh.parent(), fresh.name());
            return;
        }
        renames.move(fresh.parent(), fresh.name(), fresh.hidden(), HiddenFolders.NEW);
        if (way == Way.ASIDE) {
            renames.move(fresh.hidden(), HiddenFolders.OLD, fresh.parent(), fresh.name());
        }
    }

    @Override
    public void close() {
        List<Path> left = new ArrayList<>();
        for (Fresh fresh : all) {
            if (!swapped || !isDeletedEmpty(fresh)) {
                left.add(fresh.place());
            }
            fresh.hidden().close();
            fresh.parent().close();
        }
        all.clear();
        if (!swapped) {
            clearAndDelete(left);
        } else if (!left.isEmpty()) {
            // The stage must not wait for that. Another attempt may be under way by then.
            OldImages.later(() -> clearAndDelete(left));
        }
    }

    private void clearAndDelete(List<Path> places) {
        HiddenFolders.ofAll(places, place -> HiddenFolders.clear(id, attempt, place));
        HiddenFolders.ofAll(places, place -> HiddenFolders.delete(id, attempt, place));
    }

    /** As it is where nothing was in the place before. */
    private static boolean isDeletedEmpty(Fresh fresh) {
        try {
            Files.deleteIfExists(fresh.parent().at(fresh.hiddenName()));
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether {@link #remove} may have something to do. */
    static boolean isNoted(Path home, StageId id) {
        try {
            return noted(home, id).isPresent();
        } catch (IOException e) {
            return true;
        }
    }

    /**
     * Takes from the attempts of a stage what they have hidden on this host, has it deleted in the background, and forgets the
     * places then. Where something cannot be deleted it stays noted, to be tried again.
     *
     * @param gone is called when nothing is left, unless this is called again before, or another attempt begins
     */
    static void remove(Path home, StageId id, Runnable gone) {
        try {
            List<Path> places;
            String removal = NO_ATTEMPT + HiddenFolders.randomName();
            synchronized (NOTES) {
                UnpackedFolders noted = noted(home, id).orElse(null);
                if (noted == null) {
                    gone.run();
                    return;
                }
                places = noted.folders().stream().map(Path::of).toList();
                revoke(home, id, new UnpackedFolders(noted.folders(), removal));
            }
            if (HiddenFolders.ofAll(places, place -> HiddenFolders.takeAway(id, place))) {
                OldImages.later(() -> finish(home, id, places, removal, gone));
            }
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> "cannot tell where folders of " + id + " were made on this host");
        }
    }

    private static void revoke(Path home, StageId id, UnpackedFolders noted) throws IOException {
        try {
            notes(home).write(id, noted);
        } catch (IOException e) {
            // As on a full disk. That no attempt goes on comes before that nothing is left when this process is killed.
            notes(home).delete(id);
        }
    }

    private static void finish(Path home, StageId id, List<Path> places, String removal, Runnable gone) {
        if (!HiddenFolders.ofAll(places, place -> HiddenFolders.delete(id, HiddenFolders.ANY, place))) {
            return;
        }
        synchronized (NOTES) {
            try {
                String last = noted(home, id).map(UnpackedFolders::attempt).orElse(removal);
                if (last.equals(removal)) {
                    notes(home).delete(id);
                    gone.run();
                }
            } catch (IOException e) {
                LOG.log(Level.WARNING, e, () -> "cannot forget where folders of " + id + " were made on this host");
            }
        }
    }

    private static StageNotes<UnpackedFolders> notes(Path home) {
        return new StageNotes<>(home, "unpacked", UnpackedFolders.class);
    }

    /** Empty also for a note that a crash of the host has left without its content. */
    private static Optional<UnpackedFolders> noted(Path home, StageId id) throws IOException {
        try {
            return notes(home).read(id);
        } catch (JsonProcessingException e) {
            LOG.log(Level.WARNING, e, () -> "where folders of " + id + " were made on this host is not known any more");
            notes(home).delete(id);
            return Optional.empty();
        }
    }
}
