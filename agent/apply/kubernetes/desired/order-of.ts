import { asText, isWord, listIn } from './words.ts';

/** The place of an object in the order of its package (docs/kubernetes.md, "In which order"). */
export type ObjectOrder = {
  readonly phase: Phase;
  /** A whole number as it is written; lower ones first. */
  readonly wave: string;
  /** Objects that have to be healthy first, each as `group/namespaces/NAMESPACE/Kind/NAME` or `group/Kind/NAME`. */
  readonly dependsOn: readonly string[];
  /** True for a Job or Pod that runs once with each version of the package, or after each failure. */
  readonly isHook: boolean;
  /** After which ends of a hook the agent deletes its object. */
  readonly deletedAfter: ReadonlySet<HookEnd>;
};

export type HookEnd = 'succeeded' | 'failed';

/** Hooks before, all other objects, hooks after, in their order; objects of the last phase are applied only after a failure. */
export const PHASES = ['before', 'main', 'after', 'failed'] as const;
type Phase = (typeof PHASES)[number];

type Annotations = Readonly<Record<string, unknown>>;

export const HOOK = 'fleet-ferry/hook';
export const HOOK_DELETE = 'fleet-ferry/hook-delete';
/** Ours, and those of Helm and Argo CD in a hook of ours. */
const DELETES = [HOOK_DELETE, 'helm.sh/hook-delete-policy', 'argocd.argoproj.io/hook-delete-policy'];
const WAVES = ['fleet-ferry/wave', 'argocd.argoproj.io/sync-wave'];
const DEPENDS_ON = ['fleet-ferry/depends-on', 'config.kubernetes.io/depends-on'];

/** Phases of our hooks, and of hooks of other tools, which charts carry. A hook of Helm that only runs at a test or a deletion has none. */
const HOOKS: readonly (readonly [annotation: string, word: RegExp, phase: Phase])[] = [
  [HOOK, /^before$/, 'before'],
  [HOOK, /^after$/, 'after'],
  [HOOK, /^failed$/, 'failed'],
  ['helm.sh/hook', /^pre-(install|upgrade)$/, 'before'],
  ['helm.sh/hook', /^post-(install|upgrade)$/, 'after'],
  ['argocd.argoproj.io/hook', /^presync$/, 'before'],
  ['argocd.argoproj.io/hook', /^postsync$/, 'after'],
  ['argocd.argoproj.io/hook', /^syncfail$/, 'failed'],
];

/** Our annotations take precedence over those of other tools. */
export const orderOf = (annotations: Annotations): ObjectOrder => {
  const own = annotations[HOOK];
  const [, , phase = 'main'] =
    HOOKS.find(([key, word]) => (own === undefined || key === HOOK) && isWord(annotations[key], word)) ?? [];
  const isOfHelm = own === undefined && isWord(annotations['helm.sh/hook'], /./);
  const weight = isOfHelm ? annotations['helm.sh/hook-weight'] : undefined;
  const wave = WAVES.map((key) => annotations[key]).find((value) => value !== undefined) ?? weight ?? '0';
  const needed = DEPENDS_ON.map((key) => annotations[key]).find((value) => value !== undefined) ?? '';
  return {
    phase,
    wave: asText(wave).trim(),
    dependsOn: listIn(asText(needed)),
    isHook: phase === 'failed' || (phase !== 'main' && own !== undefined),
    deletedAfter: deletedAfter(annotations),
  };
};

/** 'hook-succeeded' of Helm and 'HookSucceeded' of Argo CD mean the same. */
const deletedAfter = (annotations: Annotations): ReadonlySet<HookEnd> => {
  const policy = DELETES.map((key) => annotations[key]).find((value) => value !== undefined);
  const ends = ['succeeded', 'failed'] as const;
  return new Set(ends.filter((end) => isWord(policy, new RegExp(`^(?:hook-?)?${end}$`))));
};
