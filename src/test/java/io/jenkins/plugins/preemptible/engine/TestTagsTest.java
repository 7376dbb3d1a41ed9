package io.jenkins.plugins.preemptible.engine;

import static com.tngtech.archunit.core.domain.properties.HasName.Predicates.nameMatching;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import java.util.Arrays;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** {@code ./preempt test --fast} leaves out what is tagged {@code host}: tests of real processes need root and CRIU. */
@AnalyzeClasses(packages = "io.jenkins.plugins.preemptible.engine")
class TestTagsTest {

    private static final Set<String> RIGS = Set.of("StageBench", "PrivilegedHost");

    private static final DescribedPredicate<JavaClass> USES_THE_HOST = new DescribedPredicate<>("uses real processes") {
        @Override
        public boolean test(JavaClass tests) {
            return tests.getDirectDependenciesFromSelf().stream()
                    .anyMatch(use -> RIGS.contains(use.getTargetClass().getSimpleName()));
        }
    };

    private static final DescribedPredicate<JavaClass> TAGGED = new DescribedPredicate<>("tagged host") {
        @Override
        public boolean test(JavaClass tests) {
            return Arrays.stream(tests.reflect().getAnnotationsByType(Tag.class))
                    .anyMatch(tag -> tag.value().equals("host"));
        }
    };

    @ArchTest
    static final ArchRule testsOfRealProcessesSaySo =
            classes().that(nameMatching(".*Test")).and(USES_THE_HOST).should(ArchCondition.from(TAGGED));
}
