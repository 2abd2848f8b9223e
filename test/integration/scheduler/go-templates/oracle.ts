import { buildGoOracle, type GoOracle } from '../../../harness/neighbours/go-oracle.ts';

/** What the real engine says to one request. */
export type Answer = {
  readonly output?: string;
  readonly error?: string;
  readonly halved?: boolean;
  readonly bytewise?: boolean;
  readonly noJson?: boolean;
};

/** Answers to requests, each a JSON object as main.go describes them. */
export type Oracle = Pick<GoOracle<Answer>, 'ask' | 'close'>;

/** Compiles the program that asks Go's text/template, the real sprig and the real yaml.v3. */
export const buildOracle = (): Oracle => buildGoOracle<Answer>(import.meta.dirname);
