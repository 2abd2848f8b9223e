import type { HostFile } from '#bundles/formats/bundle/host-package';
import { FleetError } from '#bundles/errors';
import type { DesiredPackage } from '../../../model/target.ts';
import { setEnv } from './env-file.ts';
import { setJson } from './json-file.ts';

type SiteInput = DesiredPackage['siteInputs'][number];

/**
 * Returns the bytes of a file with the site's values in their fields, by typed substitution and never as text (design.md section 4).
 * @throws FleetError SITE_VALUES naming file, field and input, never the value
 */
export const finalBytes = (file: HostFile, bytes: Buffer, inputs: readonly SiteInput[]): Buffer =>
  inputs.reduce((content, input) => {
    const what = `${file.path}, site value ${JSON.stringify(input.input)}`;
    switch (file.format) {
      case 'env':
        return setEnv(content, variable(input, what), envText(input, what), what);
      case 'json':
        return setJson(content, input.pointer, input.value, what);
      case undefined:
        throw new FleetError(
          'SITE_VALUES',
          `${what}: the package does not say the format of the file (json or env)`,
        );
      default:
        return file.format satisfies never;
    }
  }, bytes);

const variable = ({ pointer }: SiteInput, what: string): string => {
  if (pointer.startsWith('/')) return pointer.slice(1);
  throw new FleetError('SITE_VALUES', `${what}: ${JSON.stringify(pointer)} is not of the form /<KEY>`);
};

const envText = ({ value }: SiteInput, what: string): string => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new FleetError('SITE_VALUES', `${what}: only text, numbers and booleans go into an environment file`);
};
