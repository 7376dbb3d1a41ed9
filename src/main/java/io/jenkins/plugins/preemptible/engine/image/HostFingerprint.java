package io.jenkins.plugins.preemptible.engine.image;

import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The properties of a host that an image depends on.
 *
 * <ol>
 *   <li>They are read where the stage is dumped and stored in the image's manifest.
 *   <li>Where the image is to be restored, it is compared with that host's own by {@link #objections}.
 *   <li>A processor that lacks features stops the restore, since programs chose their code by them at their start;
 *       anything else that differs is only said.
 * </ol>
 *
 * @param cpuModel for people; two hosts with different models and the same features do not differ
 * @param cpuFeatures the kernel's names of the processor's features, sorted
 * @param kernel release
 * @param arch of the machine, as {@code uname -m} says
 * @param criu version
 * @param libc name and version, such as {@code glibc 2.36}; empty when unknown
 * @param buildIds of files that are mapped by the tree: path to the hexadecimal id in the file's ELF note, see ld(1),
 *     {@code --build-id}; a file without one is left out, one that could not be read has the empty id
 * @param users under whose ids the tree's processes run, root left out: numeric id to name; the empty name where the host
 *     has none for it, and no entry where that is unknown, as in older images
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record HostFingerprint(
        String cpuModel,
        List<String> cpuFeatures,
        String kernel,
        String arch,
        String criu,
        String libc,
        Map<String, String> buildIds,
        Map<String, String> users) {

    private static final int MOST_NAMED = 8;

    public HostFingerprint {
        cpuFeatures = cpuFeatures == null ? List.of() : List.copyOf(new TreeSet<>(cpuFeatures));
        buildIds = buildIds == null ? Map.of() : java.util.Collections.unmodifiableMap(new TreeMap<>(buildIds));
        users = users == null ? Map.of() : java.util.Collections.unmodifiableMap(new TreeMap<>(users));
    }

    /** Of which nothing is known of users. */
    public HostFingerprint(
            String cpuModel,
            List<String> cpuFeatures,
            String kernel,
            String arch,
            String criu,
            String libc,
            Map<String, String> buildIds) {
        this(cpuModel, cpuFeatures, kernel, arch, criu, libc, buildIds, null);
    }

    /**
     * One difference between two hosts.
     *
     * @param refusal whether the image must not be restored because of it; else it is worth a warning
     * @param sentence for people, without a final stop: what differs and what that means
     */
    public record Objection(boolean refusal, String sentence) {}

    /**
     * Compares the host of an image with this one. Pure.
     *
     * @param image null for an image that does not say: then nothing is objected to
     * @param here its build ids are those of the same paths on this host, as far as they are known
     * @return refusals first
     */
    public static List<Objection> objections(HostFingerprint image, HostFingerprint here) {
        List<Objection> found = new ArrayList<>();
        if (image == null || here == null) {
            return found;
        }
        if (differ(image.arch, here.arch)) {
            found.add(new Objection(
                    true,
                    "the image comes from a " + image.arch + " machine, this one is " + here.arch
                            + "; its programs cannot run here"));
        }
        List<String> missing = new ArrayList<>(image.cpuFeatures);
        missing.removeAll(here.cpuFeatures);
        if (!missing.isEmpty() && !here.cpuFeatures.isEmpty()) {
            found.add(new Objection(
                    true,
                    "the processor here (" + here.cpuModel + ") lacks what the stage's programs may use since their"
                            + " start on " + image.cpuModel + ": " + named(missing)));
        }
        warnIf(found, "the kernel", image.kernel, here.kernel);
        warnIf(found, "CRIU", image.criu, here.criu);
        warnIf(found, "the C library", image.libc, here.libc);
        List<String> otherBuilds = image.buildIds.entrySet().stream()
                .filter(e -> differ(e.getValue(), here.buildIds.get(e.getKey())))
                .map(Map.Entry::getKey)
                .toList();
        if (!otherBuilds.isEmpty()) {
            found.add(new Objection(
                    false,
                    "files that the stage's programs map are other builds here, which CRIU is going to refuse: "
                            + named(otherBuilds)));
        }
        return found;
    }

    private static void warnIf(List<Objection> found, String what, String image, String here) {
        if (differ(image, here)) {
            found.add(
                    new Objection(false, what + " was " + image + " when the stage was suspended, here it is " + here));
        }
    }

    private static boolean differ(String image, String here) {
        return image != null && here != null && !image.isEmpty() && !here.isEmpty() && !image.equals(here);
    }

    private static String named(List<String> names) {
        return String.join(", ", names.subList(0, Math.min(MOST_NAMED, names.size())))
                + (names.size() > MOST_NAMED ? " and " + (names.size() - MOST_NAMED) + " more" : "");
    }
}
