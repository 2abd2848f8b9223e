import { debianPlace } from '#bundles/formats/bounds/debian-place';
import { FleetError } from '#bundles/errors';
import type { AssembledPackage } from './assembled-package.ts';

/**
 * Returns a function that registers the packages of one bundle. It throws FleetError OBJECT_CLASH for a package that would own
 * an object or path of another, or that gives the name of a site input another meaning; such a package claims nothing. A site
 * would otherwise refuse the bundle.
 */
export const newClaims = (): ((made: AssembledPackage) => void) => {
  const owners = new Map<string, { readonly id: string; readonly name: string }>();
  const inputs = new Map<string, { readonly owner: string; readonly schema: string }>();
  return (made) => {
    for (const name of made.owns) {
      const other = owners.get(debianPlace(name));
      if (!other) continue;
      throw clash(
        made,
        other.name === name
          ? `${made.id} and ${other.id} both bring ${name}`
          : `${made.id} brings ${name} and ${other.id} brings ${other.name}, which are one file on every host: ${debianPlace(name)}`,
        'Only one package of a cluster type can own it',
      );
    }
    const schemas = made.siteInputs.map(({ input, schema }) => [input, JSON.stringify(schema)] as const);
    for (const [input, schema] of schemas) {
      const known = inputs.get(input);
      if (known === undefined || known.schema === schema) continue;
      throw clash(
        made,
        `${made.id} and ${known.owner} give the site input ${input} two different schemas`,
        'Make them the same, or rename one of the inputs',
      );
    }
    for (const name of made.owns) owners.set(debianPlace(name), { id: made.id, name });
    for (const [input, schema] of schemas)
      if (!inputs.has(input)) inputs.set(input, { owner: made.id, schema });
  };
};

const clash = (made: AssembledPackage, message: string, hint: string): FleetError =>
  new FleetError('OBJECT_CLASH', message, { subject: made.id, at: made.assignment.target.at, hint });
