import type { PlacedValue } from '#bundles/schemas/types/hub-decisions';
import { At } from './age.tsx';
import { JsonText } from './json-text.tsx';

const ORIGINS: Readonly<Record<string, string>> = {
  default: 'default of the application',
  layers: 'layers of the platform',
  site: 'value of the site',
  agent: 'value of the agent',
  local: 'local value',
  'fixed layers': 'fixed layer of the platform',
};

/** A value with its origin: the default, the layers with file and line, the site or the agent. */
export const Placed = ({ of }: { readonly of: PlacedValue }) =>
  of === null ? (
    <>no value</>
  ) : (
    <>
      <JsonText value={of.value} /> ({ORIGINS[of.origin] ?? of.origin}
      {of.settings?.map(({ layer, at }) => `, ${layer} at ${at}`).join('')})
    </>
  );

/** Who set a value, when and why. */
export const By = ({ of }: { readonly of: NonNullable<PlacedValue> }) =>
  of.since === undefined ? null : (
    <>
      {' '}
      by {of.person ?? 'a rule'}, <At at={of.since} />
      {of.reason ? `: ${of.reason}` : ''}
    </>
  );
