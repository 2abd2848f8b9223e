import { moduleFile } from './module-files.ts';

/** The public JSON-Schema-Test-Suite, which one validator in Go carries along whole. */
export const jsonSchemaSuite = moduleFile({
  title: 'JSON-Schema-Test-Suite',
  variable: 'FLEET_JSON_SCHEMA_SUITE',
  name: 'json-schema-suite',
  module: 'github.com/kaptinlin/jsonschema@v0.4.6',
  path: 'testdata/JSON-Schema-Test-Suite',
});
