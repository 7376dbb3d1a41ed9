package io.jenkins.plugins.preemptible.engine;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaCall.Predicates.target;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.core.importer.Location;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The wall between the engine and Jenkins, and the walls inside the engine. */
@AnalyzeClasses(packages = "io.jenkins.plugins.preemptible.engine", importOptions = WallTest.NoTests.class)
class WallTest {

    /** ArchUnit's own knows the folders of one layout only. */
    static final class NoTests implements ImportOption {
        @Override
        public boolean includes(Location location) {
            return !location.contains("/test-classes/");
        }
    }

    private static final String ENGINE = "io.jenkins.plugins.preemptible.engine";

    @ArchTest
    static final ArchRule theEngineKnowsNothingOfJenkins = noClasses()
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("hudson..", "jenkins..", "org.jenkinsci..", "org.kohsuke..", "com.cloudbees..");

    @ArchTest
    static final ArchRule theEngineKnowsItsLibrariesAndNothingOfThePlugin = classes()
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    ENGINE + "..",
                    "java..",
                    "jnr..",
                    "picocli..",
                    "com.fasterxml.jackson..",
                    "com.github.luben.zstd..",
                    "com.google.crypto.tink..",
                    "com.google.protobuf..",
                    "org.apache.commons.compress..",
                    "org.apache.commons.io..",
                    "org.knowm.xchart..");

    /** Matched from above the engine, so that its own package is a slice too. */
    @ArchTest
    static final ArchRule noPackagesDependOnEachOther =
            slices().matching("io.jenkins.plugins.preemptible.(**)").should().beFreeOfCycles();

    @ArchTest
    static final ArchRule theRootHoldsTheFacadeAlone = classes()
            .that()
            .resideInAPackage(ENGINE)
            .should()
            .haveNameMatching(
                    ".*\\.engine\\.(Engine|Engines|DirectEngine|SudoEngine|ContainerEngine|ForwardingEngine|PartedEngine|package-info)(\\$.*)?");

    @ArchTest
    static final ArchRule callersSeeTheFacadeAlone = classes()
            .that()
            .resideInAPackage(ENGINE)
            .and()
            .areNotAssignableFrom(Engine.class)
            .and()
            .haveSimpleNameNotStartingWith("package-info")
            .should()
            .bePackagePrivate();

    @ArchTest
    static final ArchRule whatCallersSeeDependsOnNothingElse = noClasses()
            .that()
            .resideInAPackage(ENGINE + ".api")
            .should()
            .dependOnClassesThat(resideInAPackage(ENGINE + "..").and(not(resideInAPackage(ENGINE + ".api"))));

    @ArchTest
    static final ArchRule thePolicyIsPure = classes()
            .that()
            .resideInAPackage(ENGINE + ".policy..")
            .should()
            .onlyDependOnClassesThat()
            .resideInAnyPackage(
                    ENGINE + ".policy..",
                    "java.lang",
                    "java.lang.invoke",
                    "java.lang.runtime",
                    "java.time",
                    "java.util..");

    @ArchTest
    static final ArchRule thePolicyHasNoClockAndNoChance = noClasses()
            .that()
            .resideInAPackage(ENGINE + ".policy..")
            .should()
            .callMethod(System.class, "currentTimeMillis")
            .orShould()
            .callMethod(System.class, "nanoTime")
            .orShould()
            .callMethod(System.class, "getenv", String.class)
            .orShould()
            .callMethod(System.class, "getProperty", String.class)
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.util.Random")
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.util.Date")
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.time.Clock")
            .orShould()
            .callMethodWhere(target(nameMatching("now|systemDefault")));

    @ArchTest
    static final ArchRule theImageKnowsNothingOfStagesAndCriu = noClasses()
            .that()
            .resideInAPackage(ENGINE + ".image..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    ENGINE,
                    ENGINE + ".api..",
                    ENGINE + ".home..",
                    ENGINE + ".suspend..",
                    ENGINE + ".resume..",
                    ENGINE + ".stage..",
                    ENGINE + ".criu..",
                    ENGINE + ".freeze..",
                    ENGINE + ".host..",
                    ENGINE + ".policy..",
                    ENGINE + ".cli..",
                    ENGINE + ".demo..");

    @ArchTest
    static final ArchRule onlyTheCommandLineKnowsItsOptionsAndPlots = noClasses()
            .that()
            .resideOutsideOfPackage(ENGINE + ".cli..")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("picocli..", "org.knowm.xchart..", ENGINE + ".cli..");

    @ArchTest
    static final ArchRule nothingHasAnEmptyName = noClasses()
            .should()
            .haveSimpleNameEndingWith("Manager")
            .orShould()
            .haveSimpleNameEndingWith("Helper")
            .orShould()
            .haveSimpleNameEndingWith("Util")
            .orShould()
            .haveSimpleNameEndingWith("Utils");
}
