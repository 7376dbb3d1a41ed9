package io.jenkins.plugins.preemptible.engine.fixup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Of a process without a vDSO the kernel's data pages are left out, and nothing else is touched. */
class MissingVdsoTest {

    private static final int COMMON_MAGIC = 0x54564319;
    private static final int MM_MAGIC = 0x57492820;

    private static final int ORDINARY = 1 | VmaStatus.ANON_PRIVATE;
    private static final int VVAR = 1 | VmaStatus.VVAR | VmaStatus.ANON_PRIVATE;
    private static final int VDSO = 1 | VmaStatus.VDSO | VmaStatus.ANON_PRIVATE;

    @TempDir
    Path folder;

    @Test
    void aVvarWithoutAVdsoIsDropped() throws Exception {
        Path file = write("mm-5.img", ORDINARY, VVAR, ORDINARY, VVAR);
        assertEquals(List.of("missing-vdso"), ImageFixups.apply(folder));
        assertArrayEquals(image(ORDINARY, 0, ORDINARY).bytes(), Files.readAllBytes(file), "all else is as it was");
        try (Stream<Path> left = Files.list(folder)) {
            assertEquals(List.of(file), left.toList());
        }
        assertEquals(List.of(), ImageFixups.apply(folder), "it is done already");
    }

    @Test
    void othersAreLeftAlone() throws Exception {
        Path whole = write("mm-1.img", ORDINARY, VVAR, VVAR, VDSO);
        assertFalse(ImageFixups.lacksVdso(folder));
        Path without = write("mm-2.img", ORDINARY);
        Path other = Files.write(folder.resolve("core-1.img"), new byte[] {1});
        assertTrue(ImageFixups.lacksVdso(folder), "one of them has none");
        List<Object> before = List.of(key(whole), key(without), key(other));
        assertEquals(List.of(), ImageFixups.apply(folder));
        assertEquals(before, List.of(key(whole), key(without), key(other)), "not even written again");
    }

    @Test
    void aFileThatCannotBeReadIsNotPassedOver() throws Exception {
        Files.write(folder.resolve("mm-1.img"), new byte[] {1, 2, 3, 4, 5});
        IOException e = assertThrows(IOException.class, () -> ImageFixups.apply(folder));
        assertTrue(e.getMessage().contains("mm-1.img"), e.getMessage());
    }

    @Test
    void everyFixupHasANameOfItsOwnAndAWhy() {
        assertEquals(
                ImageFixups.ALL.size(),
                ImageFixups.ALL.stream().map(ImageFixup::name).distinct().count());
        ImageFixups.ALL.forEach(
                fixup -> assertTrue(fixup.why().length() > 40 && !fixup.why().endsWith("."), fixup.why()));
    }

    private static Object key(Path file) throws IOException {
        return Files.readAttributes(file, java.nio.file.attribute.BasicFileAttributes.class)
                .fileKey();
    }

    private Path write(String name, int... statuses) throws IOException {
        return Files.write(folder.resolve(name), image(statuses).bytes());
    }

    // A status of 0 stands for a place that was dropped: addresses tell the mappings apart.
    private static ImageFile image(int... statuses) {
        Field.Builder vmas = Field.newBuilder();
        for (int i = 0; i < statuses.length; i++) {
            if (statuses[i] != 0) {
                vmas.addLengthDelimited(UnknownFieldSet.newBuilder()
                        .addField(1, Field.newBuilder().addVarint(0x1000L * i).build())
                        .addField(
                                Vma.STATUS,
                                Field.newBuilder().addVarint(statuses[i]).build())
                        .addField(8, Field.newBuilder().addVarint(-1L).build())
                        .build()
                        .toByteString());
            }
        }
        UnknownFieldSet mm = UnknownFieldSet.newBuilder()
                .addField(3, Field.newBuilder().addVarint(0x7fff_ffff_f000L).build())
                .addField(Mm.VMAS, vmas.build())
                .addField(999, Field.newBuilder().addFixed64(-5).build())
                .build();
        return new ImageFile("mm", List.of(COMMON_MAGIC, MM_MAGIC), List.of(mm));
    }
}
