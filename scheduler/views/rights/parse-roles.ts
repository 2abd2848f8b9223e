import { parseAllDocuments } from 'yaml';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { yamlFault } from '#bundles/json/yaml-fault';
import type { RightsObject } from './rights-objects.ts';

const ROLES: readonly unknown[] = ['Role', 'ClusterRole'];

/**
 * The roles of a file, as `rights` writes it, or as a List of `kubectl get role,clusterrole -o yaml`.
 * @throws FleetError YAML_SYNTAX; FIELD_INVALID for objects of which none is a role, as of another file
 */
export const parseRoles = (text: string, file: string): readonly RightsObject[] => {
  const objects = parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors;
    if (error)
      throw new FleetError('YAML_SYNTAX', `this is not YAML: ${yamlFault(error.message)}`, {
        at: defined({ file, line: error.linePos?.[0].line, column: error.linePos?.[0].col }),
      });
    return objectsOf(document.toJS());
  });
  const roles = objects.filter(isRole);
  if (roles.length > 0 || objects.length === 0) return roles;
  throw new FleetError('FIELD_INVALID', 'this has no Role and no ClusterRole', {
    at: { file },
    hint: 'Name the file that "fleet-scheduler rights <channel>" wrote for the clusters, or the roles that kubectl shows',
  });
};

const objectsOf = (value: unknown): readonly unknown[] =>
  isRecord(value) && Array.isArray(value['items']) ? value['items'] : [value ?? []].flat();

const isRole = (value: unknown): value is RightsObject =>
  isRecord(value) &&
  ROLES.includes(value['kind']) &&
  isRecord(value['metadata']) &&
  (value['rules'] === undefined || value['rules'] === null || Array.isArray(value['rules']));
