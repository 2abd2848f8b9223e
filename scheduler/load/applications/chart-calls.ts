import { compareBytes } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import type { Tree } from './application-source.ts';

/** A function that a template of a chart calls. */
export type ChartCall = { readonly name: string; readonly at: Place };

/** Functions that give another result each time, and `lookup`, which reads the cluster that Helm runs against. */
const UNSTABLE_CALL =
  /(?:^|[\s(|=,])(lookup|rand[A-Z]\w*|gen[A-Z]\w*|buildCustomCert\w*|encryptAES|uuidv4|shuffle|htpasswd|bcrypt|derivePassword|now|ago|getHostByName)(?=[\s)|}]|$)/g;
const ACTION = /\{\{-?([\s\S]*?)-?\}\}/g;
const COMMENT = /^\s*\/\*[\s\S]*\*\/\s*$/;
const QUOTED = /"(?:[^"\\\n]|\\.)*"|`[^`]*`/g;

/**
 * The calls of such functions in the templates of a chart and of its unpacked subcharts, sorted by place.
 * @param shown prefix of a file's name in messages
 */
export const chartCalls = (files: Tree, shown: string): readonly ChartCall[] =>
  [...files]
    .filter(([path]) => /^(?:charts\/[^/]+\/)*templates\//.test(path))
    .toSorted(([a], [b]) => compareBytes(a, b))
    .flatMap(([path, bytes]) => callsIn(`${shown}${path}`, bytes.toString('utf8')));

const callsIn = (file: string, text: string): readonly ChartCall[] => {
  if (!text.includes('{{')) return [];
  const calls: ChartCall[] = [];
  for (const { 1: action = '', index } of text.matchAll(ACTION)) {
    if (COMMENT.test(action)) continue;
    const start = index + text.slice(index).indexOf(action);
    // Quoted text keeps its length, so that places stay.
    const code = action.replaceAll(QUOTED, (quoted) => ' '.repeat(quoted.length).replace(/^ /, '"'));
    for (const found of code.matchAll(UNSTABLE_CALL)) {
      const name = found[1] ?? '';
      const offset = start + found.index + found[0].lastIndexOf(name);
      const before = text.slice(0, offset).split('\n');
      const at = { file, line: before.length, column: (before.at(-1) ?? '').length + 1 };
      calls.push({ name, at });
    }
  }
  return calls;
};
