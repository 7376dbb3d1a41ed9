package io.jenkins.plugins.preemptible.config;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * The settings of the system configuration: name, group on the page, and value as text.
 *
 * <ol>
 *   <li>The page opens a group in which a setting differs from its default.
 *   <li>A simulation shows which of its settings were not the saved ones.
 * </ol>
 */
public enum Setting {
    ENABLED(Messages::PreemptibleConfiguration_Enabled, Group.BASICS, PreemptibleConfiguration::isEnabled),
    TIME_SLICE(
            Messages::PreemptibleConfiguration_TimeSlice, Group.BASICS, PreemptibleConfiguration::getTimeSliceMinutes),
    UNDUMPABLE(Messages::PreemptibleConfiguration_Undumpable, Group.BASICS, PreemptibleConfiguration::getUndumpable),
    FROZEN_ONLY_SECONDS(
            Messages::PreemptibleConfiguration_FrozenOnlySeconds,
            Group.BASICS,
            PreemptibleConfiguration::getFrozenOnlySeconds),
    FROZEN_ONLY_PERCENT(
            Messages::PreemptibleConfiguration_FrozenOnlyPercent,
            Group.BASICS,
            PreemptibleConfiguration::getFrozenOnlyPercent),
    STAGE_DEFAULTS(Messages::StageDefaults_DisplayName, Group.BASICS, of -> text(of.getStageDefaults())),
    EXEMPT(Messages::PreemptibleConfiguration_Exempt, Group.LIMITS, PreemptibleConfiguration::getExemptSeconds),
    MOST_SUSPENSIONS(
            Messages::PreemptibleConfiguration_MostSuspensions,
            Group.LIMITS,
            PreemptibleConfiguration::getMostSuspensions),
    MOST_SUSPENDED_PER_AGENT(
            Messages::PreemptibleConfiguration_MostSuspendedPerAgent,
            Group.LIMITS,
            PreemptibleConfiguration::getMostSuspendedPerAgent),
    MOST_SUSPENDED(
            Messages::PreemptibleConfiguration_MostSuspended, Group.LIMITS, PreemptibleConfiguration::getMostSuspended),
    IMAGE_LIMIT(
            Messages::PreemptibleConfiguration_ImageLimit,
            Group.LIMITS,
            PreemptibleConfiguration::getImageLimitMegabytes),
    DISK_FLOOR(
            Messages::PreemptibleConfiguration_DiskFloor,
            Group.LIMITS,
            PreemptibleConfiguration::getDiskFloorMegabytes),
    DISK_FLOOR_PERCENT(
            Messages::PreemptibleConfiguration_DiskFloorPercent,
            Group.LIMITS,
            PreemptibleConfiguration::getDiskFloorPercent),
    UNDISTURBED_HOURS(Messages::UndisturbedHours_DisplayName, Group.LIMITS, of -> text(of.getUndisturbedHours())),
    BEST_PRIORITY(
            Messages::PreemptibleConfiguration_BestPriority, Group.FAIRNESS, PreemptibleConfiguration::getBestPriority),
    OWNER_BY(Messages::PreemptibleConfiguration_OwnerBy, Group.FAIRNESS, PreemptibleConfiguration::getOwnerBy),
    AGEING(Messages::PreemptibleConfiguration_Ageing, Group.FAIRNESS, PreemptibleConfiguration::getAgeingMinutes),
    SLICE_RULES(Messages::PreemptibleConfiguration_SliceRules, Group.FAIRNESS, of -> text(of.getSliceRules())),
    MEMORY_FLOOR(
            Messages::PreemptibleConfiguration_MemoryFloor,
            Group.AGENTS,
            PreemptibleConfiguration::getMemoryFloorMegabytes),
    MOVE_STAGES(Messages::PreemptibleConfiguration_MoveStages, Group.AGENTS, PreemptibleConfiguration::isMoveStages),
    STORED_WORKSPACE(
            Messages::PreemptibleConfiguration_StoredWorkspace,
            Group.AGENTS,
            PreemptibleConfiguration::getStoredWorkspaceMegabytes);

    /** A part of the page that is folded as a whole. */
    enum Group {
        BASICS,
        LIMITS,
        FAIRNESS,
        AGENTS
    }

    /**
     * What is asked by nobody in a simulation: no step asks for a priority there, no disk becomes full, and of a past build
     * nobody knows whether it could have been dumped.
     */
    private static final Set<Setting> WITHOUT_EFFECT_ON_SIMULATIONS = EnumSet.of(
            STAGE_DEFAULTS,
            FROZEN_ONLY_SECONDS,
            FROZEN_ONLY_PERCENT,
            DISK_FLOOR,
            DISK_FLOOR_PERCENT,
            BEST_PRIORITY,
            STORED_WORKSPACE);

    private final Supplier<String> title;
    private final Group group;
    private final Function<PreemptibleConfiguration, Object> value;

    Setting(Supplier<String> title, Group group, Function<PreemptibleConfiguration, Object> value) {
        this.title = title;
        this.group = group;
        this.value = value;
    }

    /** For people. */
    public String title() {
        return title.get();
    }

    /** For people. */
    public String value(PreemptibleConfiguration of) {
        return String.valueOf(value.apply(of));
    }

    public boolean hasEffectOnSimulations() {
        return !WITHOUT_EFFECT_ON_SIMULATIONS.contains(this);
    }

    /** Those that are not alike in both, in the page's order. */
    public static List<Setting> differences(PreemptibleConfiguration one, PreemptibleConfiguration other) {
        return Arrays.stream(values())
                .filter(setting -> !setting.value(one).equals(setting.value(other)))
                .toList();
    }

    /** The names of the groups in which something differs from its default. */
    static Set<String> changedGroups(PreemptibleConfiguration of) {
        return differences(new PreemptibleConfiguration(), of).stream()
                .map(setting -> setting.group.name())
                .collect(Collectors.toSet());
    }

    private static String text(StageDefaults defaults) {
        return defaults == null || defaults.isEmpty()
                ? Messages.Setting_None()
                : Messages.Setting_StageDefaults(
                        orNone(defaults.getPriority()),
                        orNone(defaults.getTimeSliceMinutes()),
                        orNone(defaults.getTcp()),
                        orNone(defaults.getRerun()));
    }

    private static String text(UndisturbedHours hours) {
        return hours == null
                ? Messages.Setting_None()
                : Messages.Setting_UndisturbedHours(
                        hours.getFrom(),
                        hours.getTo(),
                        orNone(hours.getZone()),
                        String.valueOf(hours.getLongMinutes()));
    }

    private static String text(List<SliceRule> rules) {
        return rules.isEmpty()
                ? Messages.Setting_None()
                : rules.stream()
                        .map(rule -> Messages.Setting_SliceRule(
                                orNone(rule.getLabel()),
                                String.valueOf(rule.getHighestPriority()),
                                String.valueOf(rule.getLowestPriority()),
                                String.valueOf(rule.getMinutes())))
                        .collect(Collectors.joining("; "));
    }

    private static String orNone(Object value) {
        return Objects.toString(value, Messages.Setting_None());
    }
}
