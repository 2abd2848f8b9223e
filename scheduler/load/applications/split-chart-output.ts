import { parseDocument } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Hooks } from '../charts/manifest-settings.ts';

/** A hook that is applied like any other object. */
export type KeptHook = {
  readonly kind: string;
  readonly name: string;
  /** 'pre-install,pre-upgrade' */
  readonly hook: string;
  /** 'before-hook-creation,hook-succeeded'; '' without one. */
  readonly deletePolicy: string;
  /** The template, as in messages. */
  readonly file: string;
};

export type ChartOutput = {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly hooks: readonly KeptHook[];
};

const SOURCE = /^# Source: [^/\n]+\/(.+)$/;

/**
 * Splits the output of `helm template` by the template that each object came from ('templates/deployment.yaml', or
 * 'charts/<name>/templates/...' for a subchart), keeping the order within a template.
 * @param shown name of a template in messages
 * @throws FleetError OBJECT_INVALID for a hook where hooks are refused
 */
export const splitChartOutput = (out: Buffer, hooks: Hooks, shown: (path: string) => string): ChartOutput => {
  const files = new Map<string, string[]>();
  const kept: KeptHook[] = [];
  let path = '';
  for (const text of out.toString('utf8').split(/^---[^\S\n]*$\n?/m)) {
    if (text.trim() === '') continue;
    const newline = text.indexOf('\n');
    const named = SOURCE.exec(newline === -1 ? text : text.slice(0, newline))?.[1];
    // A CRD file may hold several documents, with one Source comment.
    path = named ?? path;
    const body = named === undefined ? text : text.slice(newline + 1);
    const hook = readHook(body);
    if (hook && !isTaken(hook, hooks, shown(path))) continue;
    if (hook && hook.hook !== CRD_INSTALL) kept.push({ ...hook, file: shown(path) });
    const name = fileName(path);
    const texts = files.get(name) ?? [];
    texts.push(body.endsWith('\n') ? body : `${body}\n`);
    files.set(name, texts);
  }
  const sorted = [...files]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([name, texts]) => [name, Buffer.from(texts.join('---\n'))] as const);
  return { files: new Map(sorted), hooks: kept };
};

/** File names in a package end in .yaml, and only the scheduler writes a kustomization.yaml. */
const fileName = (path: string): string => {
  const yaml = /\.ya?ml$/.test(path) ? path : `${path}.yaml`;
  return yaml.replace(/(^|\/)kustomization(\.ya?ml)$/, '$1kustomization.objects$2');
};

const HOOK = 'helm.sh/hook';
/** In Helm 2 this hook installs a CRD, which is part of the application. */
const CRD_INSTALL = 'crd-install';

type Hook = Omit<KeptHook, 'file'>;

const readHook = (body: string): Hook | undefined => {
  if (!body.includes(HOOK)) return undefined;
  const document = parseDocument(body, { prettyErrors: false });
  const hook: unknown = document.getIn(['metadata', 'annotations', HOOK]);
  if (typeof hook !== 'string') return undefined;
  const policy: unknown = document.getIn(['metadata', 'annotations', `${HOOK}-delete-policy`]);
  const [kind = '', name = ''] = [document.get('kind'), document.getIn(['metadata', 'name'])].map(String);
  return { kind, name, hook, deletePolicy: typeof policy === 'string' ? policy : '' };
};

/** Helm runs hooks during an installation; an agent that maintains a state has no such steps. */
const isTaken = ({ kind, name, hook }: Hook, hooks: Hooks, at: string): boolean => {
  if (hooks === 'keep' || hook === CRD_INSTALL) return true;
  if (hooks === 'drop') return false;
  throw new FleetError(
    'OBJECT_INVALID',
    `${kind} ${name} is a Helm hook (${hook}), and there is no Helm at the site`,
    {
      at: { file: at },
      hint: 'Switch it off in the values; or say hooks: keep to apply it like any other object, or hooks: drop to leave hooks out',
    },
  );
};
