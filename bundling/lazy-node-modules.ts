import { isBuiltin } from 'node:module';
import { type Plugin, RUNTIME_MODULE_ID } from 'rolldown';

const PREFIX = '\0node-asleep:';

/**
 * An `import` of a module of Node's own reads all that it exports, and so evaluates what nobody asked for: streams for node:fs,
 * a message channel for node:util, for node:http fetch and WebSocket, which are 12 MiB. Asked for in this way, that stays asleep.
 */
export const lazyNodeModules = (): Plugin => ({
  name: 'node-asleep',
  resolveId: (source, importer) =>
    // The bundler's own few lines come before all that could ask in another way.
    isBuiltin(source) && importer !== RUNTIME_MODULE_ID ? PREFIX + source.replace(/^node:/, '') : null,
  load: (id) =>
    id.startsWith(PREFIX)
      ? `module.exports = process.getBuiltinModule(${JSON.stringify(`node:${id.slice(PREFIX.length)}`)});`
      : null,
});
