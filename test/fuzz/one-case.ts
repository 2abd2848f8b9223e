import { isFleetError } from '#bundles/errors';
import type { Random } from './random.ts';
import type { Target } from './target.ts';

/** ACCEPT, a code with its sentence, or, for a finding, what went wrong. */
export type Outcome =
  | { readonly kind: 'answered'; readonly answer: string }
  | { readonly kind: 'finding'; readonly error: string };

/** @returns what the target made of an input; never throws */
export const runCase = async (target: Target, input: Buffer): Promise<Outcome> => {
  try {
    await target.run(input);
    return { kind: 'answered', answer: 'ACCEPT' };
  } catch (error) {
    if (isFleetError(error) && error.code !== 'INTERNAL') {
      return { kind: 'answered', answer: `${error.code} ${error.message}` };
    }
    const { stack } = error instanceof Error ? error : new Error(String(error));
    return { kind: 'finding', error: stack ?? String(error) };
  }
};

const MAX_KNOWN = 400;

/** Texts of the input and numbers do not make an answer another one. */
const shapeOf = (answer: string): string => answer.replaceAll(/"[^"]*"?|[0-9a-f]{6,}|\d+/g, '').slice(0, 90);

/**
 * Makes one input after the other, each of one that is known. Whatever gets an answer that none got before is known from then on,
 * so that the next ones get further; the same seed makes the same inputs.
 */
export const inputsOf = (target: Target, random: Random) => {
  const known = [...target.corpus];
  const shapes = new Set<string>();
  return {
    next: (): Buffer => Buffer.from(target.mutate(random, random.pick(known), known)),
    note: (input: Buffer, outcome: Outcome): void => {
      if (outcome.kind === 'finding' || known.length >= MAX_KNOWN || input.length > 64 << 10) return;
      const shape = shapeOf(outcome.answer);
      if (shapes.has(shape)) return;
      shapes.add(shape);
      known.push(input);
    },
    shapes: (): number => shapes.size,
  };
};
