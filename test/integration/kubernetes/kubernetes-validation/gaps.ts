/**
 * What a cluster refuses and we let pass, on purpose: rules over several fields, names of resources, and what is empty
 * where something has to be. docs/validation.md tells them to users.
 */
export const GAPS: readonly { readonly like: RegExp; readonly why: string }[] = [
  {
    like: / (?:left out|null)$/,
    why: 'one of several fields must be there, by the value of another',
  },
  {
    like: /\.(?:limits|requests|hard|default)\.[\w.]+ (?:misspelled|beyond all bits)$/,
    why: 'names and sizes of resources',
  },
  { like: /limits\.memory a number$/, why: 'a limit below its request' },
  { like: /LimitRange spec\.limits\.0\.type another word$/, why: 'an open set of words' },
  { like: /(?:maxSurge|minAvailable) text$/, why: 'a percentage is text like any other' },
];
