import { asText, isWord, listIn } from './words.ts';

/** The place of an object in the order of its package (docs/kubernetes.md, "In which order"). */
export type ObjectOrder = {
  readonly phase: Phase;
  /** A whole number as it is written; lower ones first. */
  readonly wave: string;
  /** Objects that have to be healthy first, each as `group/namespaces/NAMESPACE/Kind/NAME` or `group/Kind/NAME`. */
  readonly dependsOn: readonly string[];
  /** True for a Job or Pod that runs once with each version of the package. */
  readonly isHook: boolean;
  /** True for a hook whose object the agent deletes once it is complete. */
  readonly isDeletedAfter: boolean;
};

/** Hooks before, all other objects, hooks after; in their order. */
export const PHASES = ['before', 'main', 'after'] as const;
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
  ['helm.sh/hook', /^pre-(install|upgrade)$/, 'before'],
  ['helm.sh/hook', /^post-(install|upgrade)$/, 'after'],
  ['argocd.argoproj.io/hook', /^presync$/, 'before'],
  ['argocd.argoproj.io/hook', /^postsync$/, 'after'],
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
    isHook: phase !== 'main' && own !== undefined,
    isDeletedAfter: isDeletedAfter(annotations),
  };
};

/** 'hook-succeeded' of Helm and 'HookSucceeded' of Argo CD mean the same. */
const isDeletedAfter = (annotations: Annotations): boolean =>
  isWord(
    DELETES.map((key) => annotations[key]).find((value) => value !== undefined),
    /^(?:hook-?)?succeeded$/,
  );
