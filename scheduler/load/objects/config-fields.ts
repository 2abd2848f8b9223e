import { isMap } from 'yaml';
import { defined } from '#bundles/defined';
import { freeRecord } from '../../model/yaml/free-value.ts';
import { has, implies, keeping } from '../../model/yaml/field-rules.ts';
import {
  childOf,
  fields,
  flag,
  mapped,
  optional,
  record,
  required,
  type Shape,
  text,
} from '../../model/yaml/shape.ts';
import { keyPlaces } from './field-places.ts';
import type { ConfigObject } from './platform-object.ts';
import { findRewrittenNumber } from './rewritten-number.ts';

/** Description of the `selector` of a Config and of a ConfigSchema. */
export const SELECTOR =
  'Labels that the cluster type or deployment target must have, all of them; `registration` and `workspace` are labels of each target that its author cannot set. Without a selector it applies to every assignment.';

/** Description of a `siteSelector`. */
export const SITE_SELECTOR =
  'Labels that the agent or its site must have, all of them; `site` and `agent` select by name.';

const configFields = keeping(
  fields({
    selector: optional(record(text), {}, SELECTOR),
    siteSelector: optional(
      record(text),
      undefined,
      'Labels that the agent or its site must have, all of them, where `site` and `agent` select by name and `{}` selects every site. With it the values go into the values of these sites and into no bundle.',
    ),
    fixed: optional(
      flag,
      undefined,
      'With `siteSelector`: the values also override those that people set with `fleet-scheduler sites set`.',
    ),
    values: required(freeRecord, 'The values, as YAML 1.2. Mappings are merged key by key across layers.'),
  }),
  [
    implies(has('fixed'), has('siteSelector')),
    (_config, path) => [
      `${path}.fixed is about values of sites, and there is no siteSelector`,
      'Write a siteSelector, or leave fixed out',
    ],
    'fixed',
  ],
);

/** A Config's spec with the place of each key. */
export const configSpec: Shape<ConfigObject> = mapped(
  configFields,
  ({ siteSelector, fixed = false, ...rest }, node, _path, reading) => {
    const values = isMap(node) ? childOf(node, 'values') : null;
    return {
      ...rest,
      ...(siteSelector && { siteSelector, fixed }),
      places: keyPlaces(values, reading),
      ...defined({ advice: findRewrittenNumber(values, reading) }),
    };
  },
);
