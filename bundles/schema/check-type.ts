import { type Check, mistake } from './mistake.ts';

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => Number.isFinite(value),
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** JSON Schema validation, section 6.1.1. @param type one name or several */
export const checkType = (type: unknown): Check => {
  const names = (Array.isArray(type) ? type : [type]) as readonly string[];
  const tests = names.map((name) => {
    const test = TYPES[name];
    if (!test) throw new TypeError(`no type of JSON Schema: ${name}`);
    return test;
  });
  const wrong = mistake('type', `must be ${names.join(',')}`);
  const [only] = tests;
  if (only && tests.length === 1) return (value) => (only(value) ? undefined : wrong);
  return (value) => (tests.some((test) => test(value)) ? undefined : wrong);
};
