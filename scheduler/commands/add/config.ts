import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { repeatable } from '#cli/flags';
import { parseValue } from '../../hub/sites/set-values.ts';
import { AddCommand, addFlags, layerFlag, readLabels } from './add-command.ts';

export default class AddConfig extends AddCommand {
  static override description =
    "Add a layer of configuration. Layers with more labels override those with fewer.\n\nWhole numbers, true, false, null and JSON are taken as such, anything else as text. In Kalypso's form the layer is a ConfigMap.";
  static override examples = [
    '<%= config.bin %> <%= command.id %> factories --select place=factory logLevel=debug mqtt.broker=mqtt.factory.example',
    '<%= config.bin %> <%= command.id %> north --site-select region=north gatewayHost=gateway.north.example --dry-run',
  ];
  static override strict = false;
  static override args = {
    name: Args.string({ required: true, description: 'Name of the layer' }),
    values: Args.string({ description: '<name>=<value> ..., with dots for deeper names' }),
  };
  static override flags = {
    ...addFlags,
    ...layerFlag,
    select: Flags.string({
      description: '<label>=<value> that the cluster type or deployment target must have',
      ...repeatable,
    }),
    'site-select': Flags.string({
      description: '<label>=<value> that the site or agent must have: the values go to these sites alone',
      ...repeatable,
    }),
    'all-sites': Flags.boolean({
      description: 'The values go to all sites, not into bundles',
      exclusive: ['site-select'],
    }),
    fixed: Flags.boolean({ description: 'For sites: the values also override those that people set' }),
  };

  async run(): Promise<unknown> {
    const { args, flags, argv } = await this.parse(AddConfig);
    const pairs = (argv as readonly string[]).slice(1);
    if (pairs.length === 0)
      throw new FleetError('USAGE', 'the layer has no values', { hint: 'Write them as <name>=<value> ...' });
    const siteSelector = flags['all-sites']
      ? {}
      : flags['site-select'] && readLabels(flags['site-select'], 'site-select');
    return await this.addObject(
      {
        kind: 'Config',
        name: args.name,
        selector: readLabels(flags.select, 'select'),
        siteSelector,
        fixed: flags.fixed,
        values: nested(pairs.map(parseValue)),
      },
      flags,
    );
  }
}

type Values = { [key: string]: unknown };

/** Values by their names, where a dot leads into a mapping. @throws FleetError USAGE if a name is a value and a mapping */
const nested = (pairs: readonly (readonly [name: string, value: unknown])[]): Values => {
  const values: Values = {};
  for (const [name, value] of pairs) {
    const path = name.split('.');
    const last = path.pop() as string;
    let map = values;
    for (const key of path) {
      const inside = Object.hasOwn(map, key) ? map[key] : {};
      if (typeof inside !== 'object' || inside === null || Array.isArray(inside)) throw twice(name);
      Object.defineProperty(map, key, OWN(inside));
      map = inside as Values;
    }
    if (Object.hasOwn(map, last)) throw twice(name);
    Object.defineProperty(map, last, OWN(value));
  }
  return values;
};

/** Defined and not assigned, because `__proto__` is a name like any other. */
const OWN = (value: unknown) => ({ value, enumerable: true, writable: true, configurable: true });

const twice = (name: string): FleetError =>
  new FleetError('USAGE', `${name} is given twice, or has a value of its own`, {
    hint: 'Give each name once',
  });
