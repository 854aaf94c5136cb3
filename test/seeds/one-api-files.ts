// Writes databases of One API the way its ORM and MySQL's tools do (requirements W7.2): a SQLite file, a file of mysqldump, a
// PostgreSQL database.
import { writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import pg from "pg";
export type Cell = null | string | number | bigint | boolean;
type Kind =
  | "id"
  | "int"
  | "bigint"
  | "text"
  | "indexed"
  | "bool"
  | "float"
  | `char(${number})`
  | `varchar(${number})`;

export interface Table {
  readonly columns: Readonly<Record<string, Kind>>;
  readonly rows: readonly Readonly<Record<string, Cell>>[];
}

export type OneApi = Readonly<Record<string, Table>>;
/** Sum of a column over a table's rows. */
export function sumOf(data: OneApi, table: string, column: string): bigint {
  return (data[table]?.rows ?? []).reduce((sum, row) => sum + BigInt(Number(row[column] ?? 0)), 0n);
}

function sqliteType(kind: Kind): string {
  if (kind === "id") return "integer PRIMARY KEY AUTOINCREMENT";
  if (kind === "bool") return "numeric";
  if (kind === "float") return "real";
  return kind === "int" || kind === "bigint" ? "integer" : "text";
}

/** Writes a file as One API's ORM would. */
export function writeSqlite(file: string, data: OneApi): void {
  const database = new DatabaseSync(file);
  database.exec("PRAGMA journal_mode = WAL; BEGIN");
  for (const [table, { columns, rows }] of Object.entries(data)) {
    const names = Object.keys(columns);
    const list = Object.entries(columns).map(([name, kind]) => `\`${name}\` ${sqliteType(kind)}`);
    database.exec(`CREATE TABLE \`${table}\` (${list.join(", ")})`);
    const insert = database.prepare(
      `INSERT INTO \`${table}\` (${names.map((name) => `\`${name}\``).join(", ")}) VALUES (${names.map(() => "?").join(", ")})`,
    );
    for (const row of rows) {
      insert.run(
        ...names.map((name) => (typeof row[name] === "boolean" ? Number(row[name]) : (row[name] ?? null))),
      );
    }
  }
  database.exec("COMMIT");
  database.close();
}

function postgresType(kind: Kind): string {
  if (kind === "id") return "bigserial PRIMARY KEY";
  if (kind === "bool") return "boolean";
  if (kind === "float") return "numeric";
  if (kind === "int") return "bigint";
  return kind === "indexed" ? "text" : kind;
}

/** Fills an empty database as One API's ORM would. */
export async function writePostgres(url: string, data: OneApi): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const [table, { columns, rows }] of Object.entries(data)) {
    const list = Object.entries(columns).map(([name, kind]) => `"${name}" ${postgresType(kind)}`);
    await client.query(`CREATE TABLE "${table}" (${list.join(", ")})`);
    await client.query(
      `INSERT INTO "${table}" SELECT * FROM json_populate_recordset(NULL::"${table}", $1::json)`,
      [JSON.stringify(rows)],
    );
  }
  await client.end();
}

function mysqlType(kind: Kind): string {
  if (kind === "id") return "bigint(20) NOT NULL AUTO_INCREMENT";
  if (kind === "bool") return "tinyint(1) DEFAULT '0'";
  if (kind === "float") return "double DEFAULT NULL";
  if (kind === "indexed") return "varchar(191) DEFAULT ''";
  if (kind === "text") return "longtext";
  return kind === "int" || kind === "bigint" ? "bigint(20) DEFAULT '0'" : `${kind} DEFAULT ''`;
}

function mysqlValue(cell: Cell | undefined): string {
  if (cell === null || cell === undefined) return "NULL";
  if (typeof cell === "boolean") return cell ? "1" : "0";
  if (typeof cell !== "string") return String(cell);
  const escaped = cell
    .replaceAll("\\", "\\\\")
    .replaceAll("'", "\\'")
    .replaceAll('"', '\\"')
    .replaceAll("\n", "\\n")
    .replaceAll("\r", "\\r")
    .replaceAll("\u0000", "\\0");
  return `'${escaped}'`;
}

/** Rows of one INSERT statement. */
const DUMP_ROWS = 100;

function dumpTable(table: string, { columns, rows }: Table): string {
  const names = Object.keys(columns);
  const list = Object.entries(columns).map(([name, kind]) => `  \`${name}\` ${mysqlType(kind)}`);
  const key = names.includes("id") ? ["  PRIMARY KEY (`id`)", `  KEY \`idx_${table}_id\` (\`id\`)`] : [];
  const inserts: string[] = [];
  for (let start = 0; start < rows.length; start += DUMP_ROWS) {
    const tuples = rows
      .slice(start, start + DUMP_ROWS)
      .map((row) => `(${names.map((name) => mysqlValue(row[name])).join(",")})`);
    inserts.push(`INSERT INTO \`${table}\` VALUES ${tuples.join(",")};`);
  }
  return `
--
-- Table structure for table \`${table}\`; it's "quoted"
--

DROP TABLE IF EXISTS \`${table}\`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE \`${table}\` (
${[...list, ...key].join(",\n")}
) ENGINE=InnoDB AUTO_INCREMENT=12 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
/*!40101 SET character_set_client = @saved_cs_client */;

LOCK TABLES \`${table}\` WRITE;
/*!40000 ALTER TABLE \`${table}\` DISABLE KEYS */;
${inserts.join("\n")}
/*!40000 ALTER TABLE \`${table}\` ENABLE KEYS */;
UNLOCK TABLES;
`;
}

/** Writes what mysqldump writes with its defaults. */
export function writeDump(file: string, data: OneApi): void {
  const head =
    "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: localhost    Database: oneapi\n";
  const tables = Object.entries(data).map(([table, content]) => dumpTable(table, content));
  writeFileSync(
    file,
    `${head}/*!40101 SET NAMES utf8mb4 */;\n${tables.join("")}\n-- Dump completed on 2024-05-01\n`,
  );
}
