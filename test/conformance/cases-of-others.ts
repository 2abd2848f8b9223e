/** Cases of another applier, by the names of its tests, and what the agent does in them. */
export type OtherCases = {
  /** Matches the names of the test functions. */
  readonly tests: RegExp;
  readonly what: string;
  readonly verdict: 'same' | 'otherwise' | 'none';
  /** What the agent does, where it is not the same, and why. */
  readonly agent: string;
  /** Lines of the card that show what the agent does. */
  readonly lines: readonly string[];
};

const same = (tests: RegExp, what: string, ...lines: readonly string[]): OtherCases => ({
  tests,
  what,
  verdict: 'same',
  agent: '',
  lines,
});
const otherwise = (tests: RegExp, what: string, agent: string, ...lines: readonly string[]): OtherCases => ({
  tests,
  what,
  verdict: 'otherwise',
  agent,
  lines,
});
const none = (tests: RegExp, what: string, agent: string): OtherCases => ({
  tests,
  what,
  verdict: 'none',
  agent,
  lines: [],
});

/** Tests of the resource manager of Flux (manager_*_test.go). */
export const FLUX_SSA = {
  name: "fluxcd/pkg's resource manager",
  version: 'v0.76.2',
  cases: [
    same(/^TestApply$/, 'Objects are created in order; unchanged ones are not written', 'O1', 'S2'),
    same(/^TestApply_(SetNativeKindsDefaults|NoOp)$/, 'Defaults of the server are no difference', 'S3'),
    otherwise(
      /^TestApplyAllStaged_PartialFailure$/,
      'After a failure in the middle the caller learns what was applied, and that stays',
      'The report names it too, and it is rolled back: nobody at a site decides what becomes of half a release',
      'E4',
    ),
    same(
      /^TestApply_Force$/,
      'Immutable fields fail; with force the object is made again, after its finalizers',
      'R1',
      'X3',
    ),
    same(/^TestApply_(SkipsExcluded|Exclusions)$/, 'Objects that an annotation leaves out', 'S10'),
    same(/^TestApply_IfNotPresent$/, 'An object that is only created', 'S10'),
    same(
      /^TestApply_IfNotPresent_ClusterScopedNamespaceInjection$/,
      'A namespace on an object without one is ignored',
      'P1',
    ),
    same(
      /^TestApply_(Cleanup|Cleanup_ExactMatch|CleanupRemovals)$/,
      'Field managers of kubectl and others are taken over, so that their fields go when they leave the manifest',
      'S8',
    ),
    none(
      /^TestApply_Cleanup_Exclusions$/,
      'An annotation keeps the managers of others',
      'A manager is either a known deployer, and taken over, or it is left alone (`deployers` in agent.yaml)',
    ),
    same(/^TestApply_MissingNamespaceErr$/, 'A missing namespace is named with its object', 'P7'),
    otherwise(
      /CRDWebhookCABundle$/,
      'An invalid caBundle is taken out of a definition before it is applied',
      'Refused before the first write, as the server refuses it: the agent changes no manifest',
      'P3',
    ),
    otherwise(
      /^TestApplyAllStaged_AppliesRoleAndRoleBinding$/,
      'A Role before its RoleBinding needs a stage that the caller gives',
      'Roles come before bindings always',
      'O1',
    ),
    otherwise(
      /MigrateAPIVersion/,
      'Field managers of an older version of a definition are rewritten',
      'Only where the server refuses an apply for them: the definition no longer has their version',
      'S9',
    ),
    same(/^TestDelete$/, 'Objects are deleted in order, and waited for', 'O5'),
    same(/^TestDelete_Exclusions$/, 'Objects that an annotation keeps', 'X1'),
    same(
      /^Test(Diff|Diff_Removals|DiffHPA|HasDrifted_Metadata)$/,
      'Added, changed and removed fields are differences, and nothing else is; values of Secrets are masked',
      'D1',
      'S11',
    ),
    same(
      /^TestDiff_(Exclusions|IfNotPresent_OnExisting|IfNotPresent_OnObject)$/,
      'Objects that the apply leaves out are left out of the comparison',
      'S10',
    ),
    same(
      /DriftIgnoreRules/,
      'Ignored fields keep the values of others, also beside other changes, and belong to nobody else again',
      'S6',
    ),
    same(/^TestWaitForSet$/, 'A definition is waited for before its objects', 'P4', 'W3'),
    otherwise(
      /^TestWaitForSet_(failFast|terminalState)$/,
      'A failed object ends the wait at once, if the caller wants it',
      'At once where it cannot recover; otherwise after 30 s of failure, which a crash at the start may need',
      'W1',
    ),
    none(
      /^TestWaitForSet_(RateLimiterError|RateLimiterErrorIncludesObjectNames|ErrorOnReaderError)$/,
      "Errors of the caller's own rate limiter and reader",
      'The agent has no rate limiter of its own; it honours that of the server',
    ),
    same(/^TestWaitWithContext_Cancellation$/, 'A wait ends when it is cancelled', 'T2'),
    same(/^TestWaitForSet_JobWithTTL$/, 'A Job that its TTL removed was complete', 'W'),
    same(/^TestWaitForSetTermination$/, 'A deletion that takes too long is named', 'X2'),
  ],
} as const;

/** End-to-end tests of kapp (test/e2e). */
export const KAPP = {
  name: 'kapp',
  version: 'v0.64.2',
  cases: [
    otherwise(
      /^TestVersioned/,
      'Each change of a ConfigMap makes a new one, and references follow',
      'The name stays, and pods restart when a ConfigMap that they read changes; the old pods keep theirs until the new ones are ready',
      'I2',
    ),
    otherwise(
      /^TestAdoptionOfResourcesWithVersionedAnn$/,
      'Versioned objects are taken over',
      'As any object, by the rule of adoption',
      'A1',
    ),
    otherwise(
      /^TestApp(Change|ChangeWithLongAppName|ChangesMaxToKeep)$/,
      'Changes are kept as ConfigMaps on the cluster',
      'In the state of the agent and at the office: nothing on the cluster grows with the years',
      'E3',
    ),
    none(
      /^Test(AppFilter|AppGroupCreateUpdateDelete|AppKindChangeWithMetadataOutput|AppNamespace|AppSuffix_|AppDeploy_With|CreateUpdateDelete_PrevApp|DeployFilesystem|Filter|HelpCommandGroup|Inspect|Version$|WarningsFlag|FallbackAllowedNamespaces|FormattedError|Template$)/,
      'Apps as kapp records them, and options and output of its commands',
      'A package is recorded by its assignment; the commands are other ones',
    ),
    same(/^TestCreateUpdateDelete$/, 'Objects are created, updated and deleted', 'S2', 'I2', 'O5'),
    otherwise(
      /^Test(ApplyWaitErrors|ExitEarlyOnApplyErrorFlag)$/,
      'After an error the other objects are applied, or not, as an option says',
      'All refusals are found by dry runs before the first write; after one in the middle nothing more is applied, and it is rolled back',
      'P3',
      'E4',
    ),
    otherwise(
      /^Test(ServiceAccountAssociatedSecretDefaultChangeRule|Config$|YttRebaseRule|DefaultConfig_|ConfigHavingRegex|UpdateRetryOnConflict_WithConflictRebasedAway|TemplateRulesWithNonTypedArrayFields)/,
      'Rules copy fields that the server or a controller has set into the manifest before it is applied',
      'Not needed: by server-side apply a field that the manifest lacks stays with its owner, and rules leave others to them',
      'S3',
      'S6',
    ),
    same(/^TestCRDVersionsWithGKScoping$/, 'Objects of a kind in two versions are one', 'P1'),
    otherwise(
      /^Test(CreateFallbackOnNoop|CreateFallbackOnUpdate|ExistsAnn|NoopAnn)$/,
      'Annotations leave an object alone, wait for one that somebody else makes, or create it only',
      '`fleet-ferry/apply` leaves it alone or creates it only; a package does not wait for objects of nobody',
      'S10',
    ),
    same(
      /^Test(CustomWaitRules|YTTWaitRuleWithTimeout)$/,
      "Rules of one's own judge health, with a time for each (here in CEL)",
      'W',
      'W1',
    ),
    same(
      /^Test(Order|SupportUnblockingChanges|YttWaitRules_WithUnblockChanges)$/,
      'Groups of changes wait for each other (here waves and depends-on); circles are refused',
      'O2',
      'O3',
    ),
    otherwise(
      /^TestDefaultLabelScopingRulesFlag$/,
      'A label of the app goes into selectors and templates',
      'No selector and no template is changed',
      'S1',
    ),
    same(/^TestDeleteInoperable$/, 'An object that is to stay is not deleted', 'X1'),
    same(/^TestDeleteOrphan$/, 'An object leaves the package and stays', 'I6'),
    same(
      /^Test(Diff|DiffChangeYAML|DiffFilter|DiffExitStatus|DiffMaskRules|DiffRun|DiffRun_WithReadOnlyPermissions|AnchoredDiff)$/,
      'Differences are shown before anything is written, without values of Secrets (`fleet-agent diff`)',
      'D1',
      'S11',
    ),
    same(
      /^TestIgnoreFailing(APIServices|GroupVersion)$/,
      'An API service that does not answer fails only what needs it',
    ),
    none(
      /^TestPodLogs$/,
      'Logs of pods are shown while they start',
      'Logs may hold secrets, so they are in no report; the last warning of a pod is',
    ),
    same(
      /^TestPreflightCRDUpgradeSafety(ScopeChange|StoredVersionRemoved)$/,
      'A definition that changes its scope or drops a stored version is refused',
      'P6',
    ),
    otherwise(
      /^TestPreflightCRDUpgradeSafety(?!ScopeChange|StoredVersionRemoved)/,
      'A definition whose schema demands more of stored objects than before is refused',
      'Applied, as the server does: objects that do not fit are refused at their next write, and stay readable',
      'P6',
    ),
    same(/^TestPreflightPermissionValidation/, 'Missing rights are listed before the first write', 'P5'),
    otherwise(
      /^TestRenewableResources$/,
      'A Job is run again when it is older than an annotation says',
      'A hook runs once with each version of the package; a CronJob runs by the clock',
      'O4',
    ),
    same(
      /^Test(OwnershipOverride|SelectiveOwnershipOverride)$/,
      'Objects of another app are taken over only where that is asked for',
      'A1',
    ),
    same(/^TestTransientResource/, 'What a controller makes of an object is not deleted as such', 'I3'),
    same(
      /^TestUpdate(FallbackOnReplace|AlwaysReplace)$/,
      'An object is made again where its author permits it',
      'R1',
    ),
    same(
      /^TestUpdateRetryOnConflict_With(outConflict|Conflict)$/,
      'A write by somebody else in between leads to another read',
    ),
    same(/^TestWaitTimeout$/, 'After its timeout an object is named', 'W2'),
  ],
} as const;
