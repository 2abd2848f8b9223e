import { type CompileExpression, loadCel } from '#bundles/cel/compile-expression';
import { type FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { ObjectPolicy } from '../desired/wanted-object.ts';
import { current, failed, inProgress, type Verdict } from './verdict.ts';

type Rule = NonNullable<ObjectPolicy['health']>;

/** Judges live objects by the platform's rules for their kinds; undefined for an object without one. */
export type CustomHealth = (
  rule: Rule | undefined,
) => ((object: Readonly<Record<string, unknown>>) => Verdict) | undefined;

/**
 * Compiles the expressions of rules; CEL is loaded for the first. The scheduler checked each with its own version before the release. Where
 * this version refuses one, or its file of CEL is gone, the objects of that rule are Failed with the reason.
 */
export const openCustomHealth = async (rules: readonly (Rule | undefined)[]): Promise<CustomHealth> => {
  const given = new Set(rules.filter((rule) => rule !== undefined));
  if (given.size === 0) return () => undefined;
  const compileExpression = await loadCel().catch((error: unknown) => toFleetError(error));
  const judges = new Map([...given].map((rule) => [rule, judgeOf(rule, compileExpression)] as const));
  return (rule) => rule && judges.get(rule);
};

const judgeOf = (rule: Rule, compileExpression: CompileExpression | FleetError) => {
  if (isFleetError(compileExpression))
    return always(
      failed(`its expression cannot be judged until the agent is restarted: ${compileExpression.message}`, 0),
    );
  const compile = (text: string | undefined) =>
    text === undefined ? undefined : { text, holds: compileExpression(text) };
  try {
    const [unfinished, broken, healthy] = [rule.inProgress, rule.failed, rule.current].map(compile);
    return (object: Readonly<Record<string, unknown>>): Verdict => {
      if (unfinished?.holds(object) === true) return inProgress(`${unfinished.text} holds`);
      if (broken?.holds(object) === true) return failed(`${broken.text} holds`);
      const answer = healthy?.holds(object);
      if (answer === true) return current(`${rule.current} holds`);
      const why = typeof answer === 'object' ? ` (${answer.why})` : '';
      return inProgress(`${rule.current} does not hold${why}`);
    };
  } catch (error) {
    const { message } = toFleetError(error);
    return always(failed(`this version of the agent refuses the expression of its rule: ${message}`, 0));
  }
};

const always =
  (verdict: Verdict): ((object: Readonly<Record<string, unknown>>) => Verdict) =>
  () =>
    verdict;
