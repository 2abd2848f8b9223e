import { compareItems } from '#bundles/formats/diff/compare-items';
import type { Item, KubernetesObject } from '#bundles/formats/diff/read-items';
import { isRecord } from '#bundles/is-record';
import type { PackageObject } from './package-objects.ts';

type Drifted = { readonly what: string; readonly message: string };

/**
 * How the live state of an object differs from the package, as lines of a unified diff. Agents report which fields differ and never their
 * values, which may be secrets: the line of such a field says who wrote it last, where that is known.
 * @returns null where the message of the agent does not say which line differs
 */
export const driftedLines = ({ item }: PackageObject, drifted: Drifted): string | null => {
  const live = liveItem(item, drifted);
  if (live === null) return null;
  return compareItems(item, live)?.diff ?? null;
};

/** undefined: it is not at the site. */
const liveItem = (item: Item, { what, message }: Drifted): Item | undefined | null => {
  if (what === 'missing') return undefined;
  if (item.object) return withFields(item, item.object, message);
  const changed = changedLine(what, message);
  if (changed === null) return null;
  const [name, value] = changed;
  const line = new RegExp(`^  ${name}: .*$`, 'm');
  const text = line.test(item.text)
    ? item.text.replace(line, () => `  ${name}: ${value}`)
    : `${item.text}  ${name}: ${value}\n`;
  return { ...item, text };
};

/** The line that differs on a host, by the agent's words: 'x has mode 0777, not 0755'. */
const changedLine = (what: string, message: string): readonly [name: string, value: string] | null => {
  const found = (pattern: RegExp): string | undefined => pattern.exec(message)?.[1];
  switch (what) {
    case 'mode':
      return ['mode', found(/ has mode (\S+), not /) ?? 'another one'];
    case 'owner':
      return ['owner', found(/ belongs to (\S+), not to /) ?? 'another one'];
    case 'type':
      return ['type', found(/ but (.+)$/) ?? 'another one'];
    case 'content':
      return ['content', 'other content than in the package'];
    case 'disabled':
    case 'masked':
      return ['starts at boot', 'no'];
    case 'enabled':
      return ['starts at boot', 'yes'];
    case 'inactive':
    case 'failed':
    case 'restarting':
      return ['runs', `no, it ${found(/^\S+ (.+)$/) ?? what}`];
    case 'active':
      return ['runs', 'yes'];
    case 'version':
      return ['version', found(/ is installed at (\S+), not at /) ?? 'another one'];
    default:
      return null;
  }
};

/** After 'Deployment shop/web: ': 'spec.replicas, spec.paused and 2 more differ (last written by kubectl)'. */
const FIELDS = /^(.+?)(?: and \d+ more)? differs?(?: \(last written by (.+)\))?$/;

/** Beyond what agents say of an object. A message is signed and its form is not checked, so that it may be long, or name a path of any depth. */
const MAX_MESSAGE = 4096;
const MAX_FIELDS = 50;
const MAX_DEPTH = 40;

const withFields = (item: Item, object: KubernetesObject, message: string): Item | null => {
  const start = message.indexOf(': ');
  if (start < 0 || message.length > MAX_MESSAGE) return null;
  const [, fields, writer] = FIELDS.exec(message.slice(start + 2)) ?? [];
  const paths = fields?.split(', ') ?? [];
  if (paths.length === 0 || paths.length > MAX_FIELDS) return null;
  if (paths.some((path) => path.split(/[.[]/).length > MAX_DEPTH)) return null;
  const by = writer === undefined ? '' : `, last written by ${writer}`;
  const live = paths.reduce<unknown>((at, path) => replaceAt(at, path, `another value${by}`), object);
  return { ...item, object: live as KubernetesObject };
};

/** A copy with another value at 'spec.containers[0].image'. Names may have dots, so that the longest one that fits is taken. */
const replaceAt = (at: unknown, path: string, value: string): unknown => {
  if (path === '') return value;
  const [, index, after] = /^\[(\d+)\]\.?(.*)$/s.exec(path) ?? [];
  if (index !== undefined) {
    if (!Array.isArray(at)) return value;
    return at.map((one: unknown, position) =>
      position === Number(index) ? replaceAt(one, after ?? '', value) : one,
    );
  }
  const record = isRecord(at) ? (at as Readonly<Record<string, unknown>>) : {};
  const name =
    Object.keys(record)
      .filter((key) => path === key || path.startsWith(`${key}.`) || path.startsWith(`${key}[`))
      .toSorted((a, b) => b.length - a.length)[0] ??
    /^[^.[]+/.exec(path)?.[0] ??
    path;
  return { ...record, [name]: replaceAt(record[name], path.slice(name.length).replace(/^\./, ''), value) };
};
