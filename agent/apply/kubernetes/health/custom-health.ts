import { loadCel } from '#bundles/cel/compile-expression';
import type { ObjectPolicy } from '../desired/wanted-object.ts';
import { current, failed, inProgress, type Verdict } from './verdict.ts';

type Rule = NonNullable<ObjectPolicy['health']>;

/** Judges live objects by the platform's rules for their kinds; undefined for an object without one. */
export type CustomHealth = (
  rule: Rule | undefined,
) => ((object: Readonly<Record<string, unknown>>) => Verdict) | undefined;

/**
 * Compiles the expressions of rules. CEL is not loaded if there are none.
 * @throws FleetError FIELD_INVALID for an expression that this version does not know: the scheduler has checked it before the release
 */
export const openCustomHealth = async (rules: readonly (Rule | undefined)[]): Promise<CustomHealth> => {
  const given = new Set(rules.filter((rule) => rule !== undefined));
  if (given.size === 0) return () => undefined;
  const compileExpression = await loadCel();
  const compile = (text: string | undefined) =>
    text === undefined ? undefined : { text, holds: compileExpression(text) };
  const judges = new Map(
    [...given].map((rule) => {
      const [unfinished, broken, healthy] = [rule.inProgress, rule.failed, rule.current].map(compile);
      const judge = (object: Readonly<Record<string, unknown>>): Verdict => {
        if (unfinished?.holds(object) === true) return inProgress(`${unfinished.text} holds`);
        if (broken?.holds(object) === true) return failed(`${broken.text} holds`);
        const answer = healthy?.holds(object);
        if (answer === true) return current(`${rule.current} holds`);
        const why = typeof answer === 'object' ? ` (${answer.why})` : '';
        return inProgress(`${rule.current} does not hold${why}`);
      };
      return [rule, judge] as const;
    }),
  );
  return (rule) => rule && judges.get(rule);
};
