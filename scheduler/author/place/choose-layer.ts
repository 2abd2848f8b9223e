import { FleetError } from '#bundles/errors';
import { didYouMean } from '#bundles/nearest-name';
import type { Layer } from './layer.ts';

/** Kinds that Kalypso's repositories keep in the base, which environments share. */
const SHARED: ReadonlySet<string> = new Set(['Template', 'WorkloadRegistration', 'ConfigSchema']);
const PROMOTION: ReadonlySet<string> = new Set(['PromotionPolicy', 'RolloutPolicy', 'FreshnessPolicy']);

/**
 * The layer for a new object.
 * @param environment whose own the object shall be; undefined: it is shared, where the form allows that
 * @throws FleetError USAGE for an unknown environment, or where the form needs one
 */
export const chooseLayer = (
  layers: readonly Layer[],
  kind: string,
  environment: string | undefined,
): Layer => {
  const own = layers.filter((layer) => layer.environment !== undefined);
  const names = own.map((layer) => String(layer.environment));
  if (environment !== undefined) {
    const found = own.find((layer) => layer.environment === environment);
    if (found) return found;
    throw new FleetError('USAGE', `the platform has no environment ${JSON.stringify(environment)}`, {
      hint: `${didYouMean(environment, names) ?? ''}It has ${names.join(', ')}`,
    });
  }
  const named = (name: string): Layer | undefined => layers.find((layer) => layer.name === name);
  if (kind === 'Environment' || kind === 'Fleet') return named('root') as Layer;
  const fixed = named(PROMOTION.has(kind) ? 'promotion' : 'base');
  if (fixed) return fixed;
  const bases = layers.filter(({ name }) => name.startsWith('base/'));
  const holding = bases.filter(({ objects }) => objects.some((one) => one.kind === kind));
  const [base, ...others] = holding.length > 0 || !SHARED.has(kind) ? holding : bases;
  if (base && others.length === 0) return base;
  const [only, ...more] = own;
  if (only && more.length === 0 && !base) return only;
  throw new FleetError('USAGE', `the environment that the ${kind} is for is missing`, {
    hint: `Give --environment with one of ${names.join(', ')}`,
  });
};
