import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { compareBytes, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type {
  CheckResult,
  DesiredPackage,
  OwnedObject,
  Plan,
  Step,
  Target,
} from '../../agent/model/target.ts';

/**
 * A machine that is nothing but a folder: enough of a host for the agent's core, and slow or complicated in nothing. A
 * file whose content begins with 'refuse' cannot be written unless there is a file 'mended' beside the machine; an exec
 * check passes when its first word is 'true', or 'mended' and that file is there, and is skipped when that is 'skip'.
 */
export const folderTarget = (folder: string): Target => {
  const live = (path: string): string | undefined => {
    const file = join(folder, 'live', path);
    return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  };
  const removals = (owned: readonly OwnedObject[], kept: ReadonlySet<string>): Step[] =>
    owned
      .filter(({ key }) => !kept.has(key))
      .map(({ key, state }) => ({
        key,
        kind: 'remove',
        ...(state['before'] === undefined
          ? { outcome: 'deleted', reason: 'no longer in the package' }
          : { outcome: 'configured', reason: 'the state before the package is restored' }),
        detail: { path: pathOf(key), before: (state['before'] as string | undefined) ?? null },
      }));
  return {
    kind: 'host',
    seconds: (desired) =>
      specOf(desired).checks.reduce(
        (sum, check) => sum + ('timeoutSeconds' in check ? check.timeoutSeconds : 0),
        0,
      ),
    claims: (desired) => new Set(specOf(desired).files.map(({ path }) => `file:${path}`)),
    plan: async (desired, owned, taken): Promise<Plan> => {
      const wanted = desired ? wantedFiles(desired) : new Map<string, string>();
      const known = new Map(owned.map((object) => [object.key, object]));
      const steps: Step[] = [];
      const owns: OwnedObject[] = [];
      for (const [path, content] of wanted) {
        const key = `file:${path}`;
        const other = taken.get(key);
        if (other !== undefined) throw new FleetError('PATH_CLAIMED', `${path} belongs to ${other}`);
        const found = live(path);
        const changed = found === undefined ? 'created' : 'configured';
        const outcome = found === content ? 'unchanged' : changed;
        steps.push({ key, kind: 'write', outcome, reason: 'content', detail: { path } });
        const before = known.get(key)?.state['before'] ?? (known.has(key) ? undefined : found);
        owns.push({ key, state: { digest: digestOf(content), ...(before === undefined ? {} : { before }) } });
      }
      return { steps: [...steps, ...removals(owned, new Set(owns.map(({ key }) => key)))], owns };
    },
    execute: async (step, desired) => {
      const path = step.detail['path'] as string;
      const file = join(folder, 'live', path);
      const content =
        step.kind === 'write'
          ? ((desired && wantedFiles(desired).get(path)) ?? '')
          : (step.detail['before'] as string | null);
      if (content?.startsWith('refuse') && !existsSync(join(folder, 'mended')))
        throw new FleetError('APPLY_FAILED', `${path} cannot be written`);
      mkdirSync(dirname(file), { recursive: true });
      if (content === null) rmSync(file, { force: true });
      else writeFileSync(file, content);
      appendFileSync(join(folder, 'steps.log'), `${step.key} ${step.outcome}\n`);
      return { key: step.key, outcome: step.outcome, reason: step.reason };
    },
    settle: async (desired) =>
      specOf(desired).checks.map((check): CheckResult => {
        const word = check.type === 'exec' ? check.argv[0] : 'true';
        if (word === 'skip') return { name: check.name, outcome: 'skipped', message: 'nobody looked' };
        const good = word === 'true' || (word === 'mended' && existsSync(join(folder, 'mended')));
        return good
          ? { name: check.name, outcome: 'passed', message: 'fine' }
          : { name: check.name, outcome: 'failed', message: 'not fine', output: 'no answer' };
      }),
    observe: async (desired) =>
      [...wantedFiles(desired)].flatMap(([path, content]) => {
        const found = live(path);
        if (found === content) return [];
        if (found === 'unreadable') throw new FleetError('IO', `${path} cannot be read`);
        const what = found === undefined ? 'missing' : 'content';
        return [{ key: `file:${path}`, what, message: `${path}: ${what}` }];
      }),
  };
};

const pathOf = (key: string): string => key.slice('file:'.length);

const specOf = ({ files }: DesiredPackage) => parseHostPackage(files.get('package.json') ?? Buffer.alloc(0));

/** Path to content, site values put in: KEY=value lines of env files. */
const wantedFiles = (desired: DesiredPackage): ReadonlyMap<string, string> =>
  new Map(
    specOf(desired).files.map((described) => {
      const { path } = described;
      const text = 'content' in described ? (desired.files.get(described.content)?.toString() ?? '') : '';
      const lines = desired.siteInputs
        .filter(({ file }) => file === path)
        .map(
          ({ pointer, value }) =>
            `${pointer.slice(1)}=${typeof value === 'string' ? value : JSON.stringify(value)}\n`,
        );
      return [path, [text, ...lines].join('')];
    }),
  );

/** All files of the machine, for comparing. */
export const liveFiles = (folder: string): Readonly<Record<string, string>> => {
  const root = join(folder, 'live');
  if (!existsSync(root)) return {};
  const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    files
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted(compareBytes)
      .map((file) => [file.slice(root.length), readFileSync(file, 'utf8')]),
  );
};

/** Every step ever carried out, in order. */
export const stepsDone = (folder: string): readonly string[] => {
  const file = join(folder, 'steps.log');
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : [];
};
