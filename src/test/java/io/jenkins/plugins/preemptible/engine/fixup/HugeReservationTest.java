package io.jenkins.plugins.preemptible.engine.fixup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pagemap;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where private mappings fill most of the address space, what is only reserved in large is left out. */
class HugeReservationTest {

    private static final long TIB = 1L << 40;
    private static final int COMMON_MAGIC = 0x54564319;
    private static final int MM_MAGIC = 0x57492820;
    private static final int PAGEMAP_MAGIC = 0x56084025;
    private static final int READ_WRITE = 3;

    @TempDir
    Path folder;

    @BeforeEach
    void onePage() throws Exception {
        pages(90 * TIB);
    }

    private record Mapping(long start, long end, int protection, int status) {}

    private static final Mapping SHADOW = new Mapping(TIB, 35 * TIB, READ_WRITE, 1 | VmaStatus.ANON_PRIVATE);
    private static final Mapping RESERVED = new Mapping(40 * TIB, 70 * TIB, 0, 1 | VmaStatus.ANON_PRIVATE);
    private static final Mapping WITH_A_PAGE = new Mapping(80 * TIB, 91 * TIB, 0, 1 | VmaStatus.ANON_PRIVATE);
    private static final Mapping SMALL = new Mapping(100 * TIB, 101 * TIB - 4096, 0, 1 | VmaStatus.ANON_PRIVATE);
    private static final Mapping OF_A_FILE = new Mapping(102 * TIB, 104 * TIB, 0, 1 | VmaStatus.FILE_PRIVATE);

    @Test
    void onlyWhatIsReservedInLargeIsLeftOut() throws Exception {
        Path file = write(SHADOW, RESERVED, WITH_A_PAGE, SMALL, OF_A_FILE);
        assertEquals(List.of("huge-reservation"), ImageFixups.apply(folder));
        assertArrayEquals(image(SHADOW, WITH_A_PAGE, SMALL, OF_A_FILE).bytes(), Files.readAllBytes(file));
        assertEquals(List.of(), ImageFixups.apply(folder), "it is done already");
    }

    @Test
    void whereThereIsRoomEnoughNothingIsTouched() throws Exception {
        Mapping less = new Mapping(40 * TIB, 55 * TIB, 0, 1 | VmaStatus.ANON_PRIVATE);
        Path file = write(SHADOW, less);
        assertEquals(List.of(), ImageFixups.apply(folder));
        assertArrayEquals(image(SHADOW, less).bytes(), Files.readAllBytes(file));
    }

    @Test
    void theNumberOfPagesIsFoundInEitherField() throws Exception {
        pages(69 * TIB);
        write(SHADOW, RESERVED);
        assertEquals(List.of(), ImageFixups.apply(folder), "a page of it is in the image");
    }

    private Path write(Mapping... mappings) throws Exception {
        return Files.write(folder.resolve("mm-7.img"), image(mappings).bytes());
    }

    private void pages(long address) throws Exception {
        UnknownFieldSet head =
                UnknownFieldSet.newBuilder().addField(1, number(5)).build();
        List<UnknownFieldSet> entries = new ArrayList<>(List.of(head));
        for (int field : List.of(Pagemap.PAGES_32, Pagemap.PAGES)) {
            entries.add(UnknownFieldSet.newBuilder()
                    .addField(Pagemap.ADDRESS, number(field == Pagemap.PAGES ? address : TIB))
                    .addField(field, number(1))
                    .build());
        }
        Files.write(
                folder.resolve("pagemap-7.img"),
                new ImageFile("pagemap", List.of(COMMON_MAGIC, PAGEMAP_MAGIC), entries).bytes());
    }

    private static ImageFile image(Mapping... mappings) {
        Field.Builder vmas = Field.newBuilder();
        for (Mapping m : mappings) {
            vmas.addLengthDelimited(UnknownFieldSet.newBuilder()
                    .addField(Vma.START, number(m.start()))
                    .addField(Vma.END, number(m.end()))
                    .addField(Vma.PROTECTION, number(m.protection()))
                    .addField(Vma.STATUS, number(m.status()))
                    .build()
                    .toByteString());
        }
        UnknownFieldSet mm =
                UnknownFieldSet.newBuilder().addField(Mm.VMAS, vmas.build()).build();
        return new ImageFile("mm", List.of(COMMON_MAGIC, MM_MAGIC), List.of(mm));
    }

    private static Field number(long value) {
        return Field.newBuilder().addVarint(value).build();
    }
}
