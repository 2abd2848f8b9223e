import { isScalar, visit } from 'yaml';
import { FleetError } from '#bundles/errors';
import { parseDocuments, placeOf } from '../../model/yaml/parse-documents.ts';
import type { HelmSource } from './application-source.ts';

/** Whole numbers that a double may not hold; most values files have none. */
const LONG = /[\d_]{16}/;

/**
 * Refuses whole numbers in values files that Helm would change in silence: it reads all numbers as doubles.
 * @throws FleetError FIELD_INVALID with the place of the first
 */
export const checkValueNumbers = ({ chart, values }: HelmSource): void => {
  const own =
    chart.from === 'repository'
      ? [...chart.files]
          .filter(([path]) => /^(?:charts\/[^/]+\/)*values\.ya?ml$/.test(path))
          .map(([path, bytes]) => ({ shown: `${chart.shown}${path}`, bytes }))
      : [];
  for (const { shown, bytes } of [...own, ...values]) {
    if (!LONG.test(bytes.toString('latin1'))) continue;
    // Helm itself reports a file that is not YAML.
    for (const { root, text } of parseDocuments(shown, bytes, []))
      visit(root, {
        Scalar: (_, node) => {
          const number = isScalar(node) ? wholeNumber(node.value, node.source ?? '') : undefined;
          if (number === undefined || BigInt(Number(number)) === number) return;
          throw new FleetError(
            'FIELD_INVALID',
            `Helm would read ${node.source} as ${BigInt(Number(number))}: it has doubles only`,
            { at: placeOf(text, node, root), hint: 'Put it in quotes' },
          );
        },
      });
  }
};

/** Beyond 64 bits a whole number is a double already when it is read. */
const wholeNumber = (value: unknown, source: string): bigint | undefined => {
  if (typeof value === 'bigint') return value;
  const digits = source.replaceAll('_', '');
  return typeof value === 'number' && /^[-+]?\d+$/.test(digits)
    ? BigInt(digits.replace(/^\+/, ''))
    : undefined;
};
