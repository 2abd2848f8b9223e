import type { Spend } from '#bundles/json/pattern/linear';
import { PatternError } from '#bundles/json/pattern/pattern-error';
import { FleetError, type Place } from '#bundles/errors';
import { compileGlob, type PathTest } from './ignore-pattern.ts';

/**
 * `.sourceignore`: patterns as in gitignore(5) that exclude files of a repository from the platform. Paths are relative to
 * the repository, with '/' and without a leading slash.
 */
type Rule = {
  readonly base: string;
  readonly negated: boolean;
  readonly test: PathTest;
};

export type IgnoreRules = readonly Rule[];

/** Longest pattern, and most patterns: in one file, and in all files of one repository. */
const MAX_PATTERN = 1024;
export const MAX_RULES = 1000;

/** Excluded from every repository, as in Flux: files for the repository's host, not for the platform. */
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

/**
 * The rules of one file. `base` is its folder, '' for the root; `file` is its name in messages.
 * @throws FleetError FIELD_INVALID, TOO_LARGE, TOO_MANY with the line
 */
export const parseIgnore = (text: string, base: string, file: string): IgnoreRules => {
  const rules = text.split(/\r?\n/).flatMap((written, index) => {
    const line = trimEnd(written);
    return line === '' || line.startsWith('#') ? [] : [parseRule(line, base, { file, line: index + 1 })];
  });
  if (rules.length > MAX_RULES) throw tooMany(rules.length, file);
  return rules;
};

export const tooMany = (count: number, file: string): FleetError =>
  new FleetError('TOO_MANY', `${count} patterns are in force here, at most ${MAX_RULES} are read`, {
    at: { file },
    hint: 'Write fewer, wider patterns',
  });

/** Removes trailing spaces, except for one after a backslash. */
const trimEnd = (line: string): string => {
  const trimmed = line.replace(/ +$/, '');
  return trimmed.endsWith('\\') && trimmed.length < line.length ? `${trimmed} ` : trimmed;
};

const parseRule = (line: string, base: string, at: Place): Rule => {
  if (line.length > MAX_PATTERN)
    throw new FleetError(
      'TOO_LARGE',
      `this pattern has ${line.length} characters, at most ${MAX_PATTERN} are read`,
      { at, hint: 'Shorten it' },
    );
  const negated = line.startsWith('!');
  try {
    return { base, negated, test: compileGlob(line.slice(negated ? 1 : 0).replace(/^\\(?=[#!])/, '')) };
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new FleetError('FIELD_INVALID', `the pattern ${JSON.stringify(line)} ${error.message}`, {
      at,
      hint: 'Correct the pattern, as in gitignore(5)',
      cause: error,
    });
  }
};

export const DEFAULT_IGNORES: IgnoreRules = parseIgnore(DEFAULTS, '', '');

/**
 * Whether a file or folder is excluded. The last rule that matches it, or a folder above it, decides. So, as in Flux but not
 * in gitignore(5), `!deploy/prod/` includes a part of what `/*` excluded.
 */
export const isIgnored = (rules: IgnoreRules, path: string, folder: boolean, spend: Spend): boolean => {
  const last = rules.findLast((rule) => {
    if (rule.base !== '' && !path.startsWith(`${rule.base}/`)) return false;
    const inside = rule.base === '' ? path : path.slice(rule.base.length + 1);
    return rule.test(inside, folder, spend);
  });
  return last !== undefined && !last.negated;
};

/** Whether a rule may include something in an excluded folder. */
export const mayReinclude = (rules: IgnoreRules): boolean => rules.some(({ negated }) => negated);
