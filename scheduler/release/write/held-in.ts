import { defined } from '#bundles/defined';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import type { EnvironmentBuild } from '../../assemble/environment-build.ts';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';

const MAX_NAME = 63;

/**
 * Held entries of a bundle statement: assignments, and applications that could not be read and of which no earlier package is
 * kept; their assignments are unknown.
 */
export const heldIn = (
  { held }: BuiltBundle,
  workloads: NonNullable<EnvironmentBuild['platform']['heldWorkloads']>,
): BundlePredicate['held'] => [
  ...held.map(toHeldLine),
  ...workloads
    .filter(({ workspace }) => !held.some(({ assignment }) => assignment.target.workspace === workspace))
    .flatMap(({ registration, errors: [error] }) =>
      error
        ? [
            defined({
              // A registration may have a longer name, with dots.
              assignment: registration.replaceAll('.', '-').slice(0, MAX_NAME).replace(/-+$/, ''),
              code: error.code,
              message: `WorkloadRegistration ${registration}: ${error.message}`.slice(0, 2000),
              at: error.at,
            }),
          ]
        : [],
    ),
];

/** A held assignment as recorded in the bundle statement. */
export const toHeldLine = ({ assignment, error, kept }: BuiltBundle['held'][number]) =>
  defined({
    assignment: assignment.target.name,
    code: error.code,
    message: error.message.slice(0, 2000),
    at: error.at,
    kept: kept?.digest,
  });
