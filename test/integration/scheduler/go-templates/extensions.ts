import type { Answer } from './oracle.ts';

/** What a render of ours gave. */
export type Own = { readonly output?: string; readonly error?: string };

/**
 * Where ours differs from Go on purpose, each with its reason; docs/templates.md tells the same to people. Everything else must
 * be equal.
 */
export const EXTENSIONS: readonly {
  readonly reason: string;
  readonly applies: (theirs: Answer, own: Own) => boolean;
}[] = [
  {
    reason: 'any whole number is good enough for an int, and for a float',
    applies: ({ error = '' }) => /expected (?:int|float64); got (?:u?int|float)\d*/.test(error),
  },
  {
    reason: 'any map is good enough for a map (.Labels, and what split gives), and so is null',
    applies: ({ error = '' }) =>
      /(?:expected map\[string\]interface \{\}; got|interface \{\} is) (?:map\[|interface)/.test(error),
  },
  {
    reason: 'the configuration is shared by many renders: set and unset change maps of the template only',
    applies: (_theirs, { error = '' }) => error.includes('can change only a map this template made'),
  },
  {
    reason: 'a text is never cut inside a character',
    applies: ({ halved, output = '' }) => halved === true || output.includes('\ufffd'),
  },
  { reason: 'nospace and initials take characters, not bytes', applies: ({ bytewise }) => bytewise === true },
  {
    reason: 'toJson writes every value that has a form in JSON, and fails aloud for others',
    applies: ({ noJson, error = '' }) => noJson === true || error.includes('json: unsupported type: map['),
  },
  {
    reason: 'fromJson, b64dec and b32dec fail aloud',
    applies: ({ output }, { error = '' }) =>
      output !== undefined && /this is not JSON|is not base64|is not base32|not UTF-8/.test(error),
  },
  {
    reason: 'a wrong call is refused even where no render comes by',
    applies: ({ output }, { error = '' }) =>
      output !== undefined &&
      /takes (?:at least )?\d+ arguments?, not|there is no template|is not declared|only a function takes arguments|nil alone|is not allowed/.test(
        error,
      ),
  },
  {
    reason: 'dates are given: sprig takes the present for what is none',
    applies: (_theirs, { error = '' }) =>
      /cannot read the clock|would read the clock|years 0 to 9999/.test(error),
  },
  {
    reason: 'what shows the Go name of the context itself, which nobody knows',
    applies: ({ output = '' }, { error = '' }) =>
      output.includes('main.data') ||
      /hash takes a value, not an object|the context itself with %#v/.test(error),
  },
  {
    reason: 'printf writes a version or a time as a text only, and floats never in base 2 or 16',
    applies: (_theirs, { error = '' }) => /printf cannot write (?:a \S+ with %|addresses)/.test(error),
  },
  {
    reason: 'chunk wants a size of at least 1',
    applies: ({ output }, { error = '' }) => output !== undefined && error.includes('chunk needs a size'),
  },
  {
    reason: 'trunc takes negative lengths, as newer sprig',
    applies: ({ error = '' }) => /slice bounds out of range \[:-\d+\]/.test(error),
  },
];
