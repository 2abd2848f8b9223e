import { loadCel } from '#bundles/cel/compile-expression';
import { FleetError, toFleetError } from '#bundles/errors';
import { defined } from '#bundles/defined';
import type { ClusterType } from '../../model/model.ts';
import type { Problems } from '../../model/problems.ts';

/** Adds each expression of an object rule that is not valid CEL to the problems. CEL is loaded only if there is one. */
export const checkExpressions = async (
  clusterTypes: readonly ClusterType[],
  problems: Problems,
): Promise<void> => {
  const expressions = clusterTypes.flatMap(({ name, objectRules = [] }) =>
    objectRules.flatMap(({ health = {} }) =>
      Object.entries(health).flatMap(([field, text]) => (text ? [{ name, field, ...text }] : [])),
    ),
  );
  if (expressions.length === 0) return;
  const compileExpression = await loadCel();
  for (const { name, field, value, at } of expressions) {
    try {
      compileExpression(value);
    } catch (cause) {
      const { message, hint } = toFleetError(cause);
      problems.found.push(
        new FleetError(
          'FIELD_INVALID',
          `health.${field} is not an expression: ${message}`,
          defined({ subject: `ClusterType ${name}`, at, hint, cause }),
        ),
      );
    }
  }
};
