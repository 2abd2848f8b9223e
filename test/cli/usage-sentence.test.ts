import { describe, expect, it } from 'vitest';
import { usageSentence } from '#cli/usage-sentence';

describe("usageSentence rewrites the parser's message", () => {
  it.each([
    [
      'Missing 1 required arg:\nsite  Name of the site\n\nNote: --unset allows multiple values. Because of this you need\nSee more help with --help',
      'the argument SITE is missing',
    ],
    ['Nonexistent flag: --nope\nSee more help with --help', 'there is no flag --nope'],
    ['Flag --workers expects a value', '--workers requires a value'],
    [
      'Parsing --workers \n\tExpected an integer but received: x\nSee more help with --help',
      '--workers requires a whole number, not "x"',
    ],
    [
      'The following errors occurred:\n  Missing required flag environment\n  Missing required flag out',
      '--environment and --out are missing',
    ],
    ['The following error occurred:\n  Missing required flag to', '--to is missing'],
    ['Expected --format=xml to be one of: json, text', '--format must be one of json, text, not "xml"'],
    [
      'All of the following must be provided when using --evidence: --sign-key, --to',
      '--evidence requires --sign-key, --to',
    ],
    [
      '--stick-size=4GB cannot also be provided when using --parts',
      '--stick-size and --parts cannot be combined',
    ],
    ['Unexpected argument: again', 'there are too many arguments: again'],
    ['Unexpected arguments: password=hunter2, x', 'there are too many arguments: password=..., x'],
    ['something  oclif\nwill say one day', 'something oclif will say one day'],
  ])('%s', (said, sentence) => {
    expect(usageSentence(said)).toBe(sentence);
  });
});
