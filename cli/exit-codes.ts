import type { ExitCode } from '#bundles/errors';

/** What every exit code means, and who acts: the table of docs/errors.md, which a test compares with this. */
export const EXIT_CODES: Readonly<Record<ExitCode, { readonly meaning: string; readonly who: string }>> = {
  0: { meaning: 'done', who: 'nobody' },
  1: { meaning: 'our own fault, or stopped by a signal', who: 'run it again; report it if it stays' },
  2: { meaning: 'the command line or the configuration is wrong', who: 'the caller' },
  3: { meaning: 'the input is wrong: YAML, template, file', who: 'the platform or application team' },
  4: {
    meaning: 'refused: a signature, digest, floor or format',
    who: 'nobody forces it; find out where the file came from',
  },
  5: { meaning: 'something is missing or out of reach', who: 'bring it' },
  6: {
    meaning: 'the machine could not do it: disk, permission, device',
    who: 'the administrator of the machine',
  },
  7: {
    meaning: 'accepted, but a package failed and was rolled back or stays as it was',
    who: 'the application team',
  },
  8: { meaning: 'done, but something is held, differs or needs a look', who: 'a person, not at once' },
};
