import type { Spend } from '#bundles/pattern/linear';
import { PatternError } from '#bundles/pattern/pattern-error';
import { FleetError, type Place } from '#bundles/errors';
import { compileGlob, type PathTest } from './ignore-pattern.ts';

/**
 * `.sourceignore`: the patterns, written as in gitignore(5), that keep files of a repository out of the platform.
 * Paths are relative to the repository, with '/', without a leading one.
 */
type Rule = {
  readonly base: string;
  readonly negated: boolean;
  readonly test: PathTest;
};

export type IgnoreRules = readonly Rule[];

/** Longest line and most lines with a pattern: of one file, and of all that count for one repository. */
const MAX_PATTERN = 1024;
export const MAX_RULES = 1000;

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

/**
 * The rules of one file; `base` is the folder it lies in, '' for the root, `file` what messages call it.
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

/** Without the spaces at the end, but for one behind a backslash. */
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
 * Is this file or folder left out? The last rule that speaks of it, or of a folder above, decides; so, as Flux has it and
 * gitignore(5) has not, `!deploy/prod/` brings back a part of what `/*` left out.
 */
export const isIgnored = (rules: IgnoreRules, path: string, folder: boolean, spend: Spend): boolean => {
  const last = rules.findLast((rule) => {
    if (rule.base !== '' && !path.startsWith(`${rule.base}/`)) return false;
    const inside = rule.base === '' ? path : path.slice(rule.base.length + 1);
    return rule.test(inside, folder, spend);
  });
  return last !== undefined && !last.negated;
};

/** May something in a folder that is left out be taken back? */
export const takesBack = (rules: IgnoreRules): boolean => rules.some(({ negated }) => negated);
