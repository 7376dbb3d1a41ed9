package io.jenkins.plugins.preemptible.engine.fixup;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Drops the vvar of a process that has unmapped its vDSO, as every tool of Valgrind does.
 *
 * <ol>
 *   <li>Valgrind hides the vDSO from the program that it runs, and unmaps it; the kernel's data pages before it, [vvar]
 *       and [vvar_vclock], stay mapped, but nothing reads them without the vDSO's code.
 *   <li>CRIU takes a vvar for the sign of a vDSO, does not find one, and ends its restore with
 *       {@code Can't find vDSO area in image}. Without both, CRIU continues: {@code No VVAR, no vDSO in image}.
 *   <li>So in each {@code mm-*.img} that has a mapping with the bit VVAR and none with the bit VDSO, the former are
 *       left out. They have no pages in the image; all other fields stay as they are.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/pie/parasite-vdso.c}; Valgrind, {@code coregrind/m_main.c}.
 */
final class MissingVdso implements ImageFixup {

    @Override
    public String name() {
        return "missing-vdso";
    }

    @Override
    public String why() {
        return "A process has unmapped its vDSO, as Valgrind does, and CRIU expects one wherever its data pages are mapped;"
                + " nothing reads those without it, so they are left out of the image";
    }

    @Override
    public boolean apply(Path imageFolder) throws IOException {
        return EntryRewrite.rewriteAll(imageFolder, "mm-*.img", file -> MissingVdso::withoutStrayVvar);
    }

    /** Whether a process of the image has none. */
    static boolean isIn(Path imageFolder) throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(imageFolder, "mm-*.img")) {
            for (Path file : files) {
                ImageFile image = ImageFile.parse(file.getFileName().toString(), Files.readAllBytes(file));
                for (UnknownFieldSet mm : image.entries()) {
                    if (!hasVdso(mm)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private static boolean hasVdso(UnknownFieldSet mm) throws InvalidProtocolBufferException {
        for (ByteString vma : mm.getField(Mm.VMAS).getLengthDelimitedList()) {
            if ((status(vma) & VmaStatus.VDSO) != 0) {
                return true;
            }
        }
        return false;
    }

    private static UnknownFieldSet withoutStrayVvar(UnknownFieldSet mm) throws InvalidProtocolBufferException {
        if (hasVdso(mm)) {
            return mm;
        }
        UnknownFieldSet.Field.Builder others = UnknownFieldSet.Field.newBuilder();
        for (ByteString vma : mm.getField(Mm.VMAS).getLengthDelimitedList()) {
            if ((status(vma) & VmaStatus.VVAR) == 0) {
                others.addLengthDelimited(vma);
            }
        }
        return mm.toBuilder().addField(Mm.VMAS, others.build()).build();
    }

    private static long status(ByteString vma) throws InvalidProtocolBufferException {
        List<Long> values = UnknownFieldSet.parseFrom(vma).getField(Vma.STATUS).getVarintList();
        return values.isEmpty() ? 0 : values.get(values.size() - 1);
    }
}
