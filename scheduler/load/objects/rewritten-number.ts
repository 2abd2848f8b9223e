import { type Node, type Scalar, visit } from 'yaml';
import { FleetError } from '#bundles/errors';
import { placeIn, type Reading } from '../../model/yaml/shape.ts';

/** Advice on the first number below a node whose zeros at the end are lost: often it is a version, which should be text. */
export const findRewrittenNumber = (node: Node | null, reading: Reading): FleetError | undefined => {
  let found: Scalar | undefined;
  visit(node, {
    Scalar: (key, one) => {
      if (key === 'key' || one.type !== 'PLAIN' || !/^[-+]?\d+\.(?:\d*0)?$/.test(one.source ?? ''))
        return undefined;
      found = one;
      return visit.BREAK;
    },
  });
  if (!found) return undefined;
  const { source, value } = found;
  return new FleetError(
    'VALUE_AMBIGUOUS',
    `${source} without quotes is the number ${Number(value)}, and arrives as that`,
    {
      subject: reading.subject,
      at: placeIn(reading, found),
      hint: `Write "${source}" if it is text, else ${Number(value)}`,
    },
  );
};
