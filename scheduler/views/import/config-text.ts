import { stringify } from 'yaml';
import { plainValue } from '../../model/plain-value.ts';
import { typeFleetValue, typeKalypsoValue } from '../../load/platform/config-layers.ts';
import type { Labels, Value } from '../../model/model.ts';
import { AZURE_PREFIX, readAzureKey } from '../../load/objects/config-map.ts';
import type { ObjectOf } from '../../load/objects/platform-object.ts';
import { selectorLabels } from '../../load/objects/selector-labels.ts';

/**
 * Converts a ConfigMap of a Kalypso platform: unchanged if both forms read it in the same way, otherwise Configs with the
 * values that Kalypso reads (behaviour.md 2.4).
 */
export const configText = (map: ObjectOf<'ConfigMap'>): string | undefined => {
  const typed = Object.entries(map.data).map(([key, { value }]) => ({
    key,
    ours: plainValue(typeFleetValue(value)),
    kalypso: plainValue(typeKalypsoValue(value)),
  }));
  const isAzure = map.name.startsWith(AZURE_PREFIX);
  if (isAzure && map.labels['platform-config'] !== 'true') return azureConfigs(map);
  if (!isAzure && typed.every(({ ours, kalypso }) => JSON.stringify(ours) === JSON.stringify(kalypso)))
    return undefined;
  const values = Object.fromEntries(typed.map(({ key, kalypso }) => [key, kalypso]));
  const whole = config(map.name, selectorLabels(map.labels), values);
  // A ConfigMap that also has the label is converted in both ways.
  return isAzure ? `${whole}---\n${azureConfigs(map)}` : whole;
};

/** An `azure-app-config*` ConfigMap selects by each of its keys (`label.value.name`): a Config for every one. */
const azureConfigs = (map: ObjectOf<'ConfigMap'>): string =>
  Object.entries(map.data)
    .map(([key, { value }], index) => {
      const { name, selector } = readAzureKey(key);
      const values = { [name]: plainValue(typeKalypsoValue(value)) };
      return config(`${map.name}-${index + 1}`, selector, values);
    })
    .join('---\n');

const config = (name: string, selector: Labels, values: Readonly<Record<string, Value>>): string =>
  stringify(
    { apiVersion: 'fleet-ferry/v1alpha1', kind: 'Config', metadata: { name }, spec: { selector, values } },
    { lineWidth: 0 },
  );
