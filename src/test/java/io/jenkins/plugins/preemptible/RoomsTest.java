package io.jenkins.plugins.preemptible;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.Location;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** The walls between the plugin's packages. Those of the engine have a test of their own beside it. */
class RoomsTest {

    private static final String OURS = "io.jenkins.plugins.preemptible";

    private static JavaClasses classes;

    @BeforeAll
    static void read() {
        classes = new ClassFileImporter().withImportOption(RoomsTest::noTests).importPackages(OURS);
    }

    /** They are large, and the JVM runs further classes. */
    @AfterAll
    static void forget() {
        classes = null;
    }

    private static boolean noTests(Location location) {
        return !location.contains("/test-classes/");
    }

    @Test
    void noPackagesDependOnEachOther() {
        slices().matching(OURS + ".(**)").should().beFreeOfCycles().check(classes);
    }

    /** A class in the root would be in no slice, and so in no rule about cycles. */
    @Test
    void theRootIsEmpty() {
        noClasses().should().resideInAPackage(OURS).check(classes);
    }

    @Test
    void prioritiesStandAlone() {
        noClasses()
                .that()
                .resideInAPackage(OURS + ".priority")
                .should()
                .dependOnClassesThat(resideInAPackage(OURS + "..").and(not(resideInAPackage(OURS + ".priority"))))
                .check(classes);
    }
}
