/**
 * `.sourceignore`: the patterns, written as in gitignore(5), that keep files of a repository out of the platform.
 * Paths are relative to the repository, with '/', without a leading one.
 */
type Rule = {
  readonly base: string;
  readonly negated: boolean;
  /** Does it speak of a file? It does too when it speaks of a folder above. */
  readonly file: RegExp;
  readonly folder: RegExp;
};

export type IgnoreRules = readonly Rule[];

/** Left out of every repository, as Flux does: what belongs to the host of the repository, not to the platform. */
const DEFAULTS = `.git/
.github/
.circleci/
.gitlab-ci.yml
.travis.yml
appveyor.yml
.drone.yml
cloudbuild.yaml
codeship-services.yml
codeship-steps.yml
**/.goreleaser.yml
**/.sops.yaml
**/.flux.yaml
`;

/** The rules of one file; `base` is the folder it lies in, '' for the root. */
export const parseIgnore = (text: string, base: string): IgnoreRules =>
  text
    .split(/\r?\n/)
    .map((line) => line.replace(/(?<!\\) +$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => parseRule(line, base));

const parseRule = (line: string, base: string): Rule => {
  const negated = line.startsWith('!');
  const folder = line.endsWith('/');
  const pattern = line
    .slice(negated ? 1 : 0)
    .replace(/^\\(?=[#!])/, '')
    .replace(/\/$/, '');
  // A slash before the end ties the pattern to its folder; without one it counts at every depth.
  const tied = pattern.includes('/');
  const glob = pattern.replace(/^\//, '');
  const source = `^${tied ? '' : '(?:.*/)?'}${toExpression(glob)}`;
  const below = new RegExp(`${source}(?:/.*)?$`, 's');
  return { base, negated, folder: below, file: folder ? new RegExp(`${source}/.*$`, 's') : below };
};

const toExpression = (glob: string): string => {
  let text = '';
  for (let at = 0; at < glob.length; at++) {
    const char = glob[at] as string;
    if (glob.startsWith('**/', at) && (at === 0 || glob[at - 1] === '/')) {
      text += '(?:.*/)?';
      at += 2;
    } else if (glob.startsWith('/**', at) && at + 3 === glob.length) {
      text += '/.*';
      at += 2;
    } else if (char === '*') text += '[^/]*';
    else if (char === '?') text += '[^/]';
    else if (char === '[' && glob.indexOf(']', at + 2) !== -1) {
      const end = glob.indexOf(']', at + 2);
      const set = glob.slice(at + 1, end).replace(/^!/, '^');
      text += `[${set.replaceAll('\\', '\\\\').replaceAll('[', '\\[')}]`;
      at = end;
    } else if (char === '\\' && at + 1 < glob.length) text += escape(glob[++at] as string);
    else text += escape(char);
  }
  return text;
};

const escape = (char: string): string => char.replace(/[\\^$.*+?()[\]{}|/]/, '\\$&');

export const DEFAULT_IGNORES: IgnoreRules = parseIgnore(DEFAULTS, '');

/**
 * Is this file or folder left out? The last rule that speaks of it, or of a folder above, decides; so, as Flux has it and
 * gitignore(5) has not, `!deploy/prod/` brings back a part of what `/*` left out.
 */
export const isIgnored = (rules: IgnoreRules, path: string, folder: boolean): boolean => {
  const last = rules.findLast((rule) => {
    if (rule.base !== '' && !path.startsWith(`${rule.base}/`)) return false;
    const inside = rule.base === '' ? path : path.slice(rule.base.length + 1);
    return (folder ? rule.folder : rule.file).test(inside);
  });
  return last !== undefined && !last.negated;
};

/** May something in a folder that is left out be taken back? */
export const takesBack = (rules: IgnoreRules): boolean => rules.some(({ negated }) => negated);
